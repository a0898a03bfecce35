#pragma once
// fixed: poll for the same window before every halt.
//
// The baseline every other governor is measured against, and the right choice where wakes come at a
// steady distance below the window. It learns nothing, so it burns `window_ns` on every long idle
// period.
#include "governor.hpp"

namespace haltpoll::core::fixed {

struct params {
  u64 window_ns = 50'000;  ///< 0 halts at once; the longest allowed is checked by the SPEC parser
};

struct state {
  u32 unused = 0;  ///< nothing to remember; BPF map values may not be empty
};

[[gnu::always_inline]] constexpr decision select(const params& p, state&, const request& r) {
  if (r.latency_limit_ns == 0) return {poll_state, false, p.window_ns};
  if (p.window_ns == 0) return {};
  return {poll_state, false, p.window_ns};
}

[[gnu::always_inline]] constexpr void reflect(const params&, state&, const outcome&) {}

}  // namespace haltpoll::core::fixed
