#pragma once
// breakeven: poll for exactly as long as an immediate wake from the halt would have cost.
//
// The ski-rental rule. With P(d) the cost of a wake after d ns of halt (latency_price x wake
// latency), an idle period of length d costs min(d, window) and, past the window, P(d - window);
// the clairvoyant pays min(d, P(d)). With window = P(0) the rule pays at most twice that as long as
// P never falls and grows no faster than time (P(d) <= P(0) + d): up to the window it pays d <=
// P(0) <= P(d); beyond it, P(0) + P(d - P(0)) <= 2 P(d) and <= P(0) + d <= 2 d. A jump can break
// the bound, and the price enlarges jumps: on the machine this was written on the host gives up its
// own polling at about 130 us and the latency jumps from 7 to 65 us. The bound survives that at
// prices 1 and 4, where the window is short beside 130 us; at price 16 the rule pays 4.8 times
// (breakeven_test.cpp). It learns nothing; use it where the penalty is known and flat. (Karlin et
// al., "Competitive randomized algorithms for non-uniform problems", 1990, for the deterministic
// bound.)
#include "governor.hpp"

namespace haltpoll::core::breakeven {

struct params {
  u64 wake_ns =
      7'000;  ///< wake latency of a halt that has just begun, ns; 7 us measured on 2-vCPU guests
  u64 latency_price =
      4;  ///< ns of idle CPU that one ns of wake latency is worth: eco 1, balanced 4, latency 16
};

struct state {
  u32 unused = 0;  ///< nothing to remember; BPF map values may not be empty
};

/// The break-even window, ns. The product must fit 64 bits; the SPEC parser allows 1 ms at most.
[[gnu::always_inline]] constexpr u64 window(const params& p) { return p.wake_ns * p.latency_price; }

[[gnu::always_inline]] constexpr decision select(const params& p, state&, const request& r) {
  const u64 w = window(p);
  if (r.latency_limit_ns != 0 && w == 0) return {};
  return {poll_state, false, w};
}

[[gnu::always_inline]] constexpr void reflect(const params&, state&, const outcome&) {}

}  // namespace haltpoll::core::breakeven
