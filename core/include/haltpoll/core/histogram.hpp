#pragma once
// histogram: durations counted in buckets of powers of two.
//
// Plain struct and free functions, as everything that lives in a BPF map; no loop, so that a verifier has nothing to follow.
#include "types.hpp"

namespace haltpoll::core {

inline constexpr u32 log2_buckets = 64;

/// Bucket i counts durations from 2^i up to 2^(i+1) - 1 ns; bucket 0 also counts 0.
struct log2_histogram {
  u64 count[log2_buckets];
};

/// Position of the highest bit set; 0 for 0.
[[gnu::always_inline]] constexpr u32 log2_of(u64 v) {
  u32 r = 0;
  if (v >> 32 != 0) r += 32, v >>= 32;
  if (v >> 16 != 0) r += 16, v >>= 16;
  if (v >> 8 != 0) r += 8, v >>= 8;
  if (v >> 4 != 0) r += 4, v >>= 4;
  if (v >> 2 != 0) r += 2, v >>= 2;
  if (v >> 1 != 0) r += 1;
  return r;
}

[[gnu::always_inline]] constexpr void count(log2_histogram& h, u64 duration_ns) {
  ++h.count[log2_of(duration_ns) & (log2_buckets - 1)];
}

}  // namespace haltpoll::core
