#pragma once
// branchless: comparisons that are numbers, 1 or 0, for loops over idle states or intervals.
//
// The BPF verifier walks every path: ten states each in or out of a set are 2^10 of them, past its
// limit of a million instructions after two such loops. Arithmetic is one path. The optimiser knows
// these tricks and turns them back into branches, so it is kept from seeing what the difference is
// of, and that there are two results only. They are factors and not masks because the verifier of
// recent kernels walks both values of a mask too.
#include "types.hpp"

namespace haltpoll::core {

/// `v`, of which the optimiser knows nothing. No instruction.
[[gnu::always_inline]] constexpr u64 opaque(u64 v) {
  if (!__builtin_is_constant_evaluated()) asm("" : "+r"(v));
  return v;
}

/// 1 if a < b, else 0. Both below 2^63, or as s64 not further apart than that.
[[gnu::always_inline]] constexpr u64 less(u64 a, u64 b) { return opaque(opaque(a - b) >> 63); }

/// Bit `i` of `set`.
[[gnu::always_inline]] constexpr u64 bit(u64 set, u32 i) { return opaque(opaque(set >> i) & 1); }

/// `yes` is 1: a, 0: b.
[[gnu::always_inline]] constexpr u64 choose(u64 yes, u64 a, u64 b) { return b + yes * (a - b); }

}  // namespace haltpoll::core
