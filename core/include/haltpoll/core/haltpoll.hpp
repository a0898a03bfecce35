#pragma once
// haltpoll: the Linux guest governor (drivers/cpuidle/governors/haltpoll.c), exact for 6.1
// and 6.12.
//
// The window changes only after a halt: it grows when a longer poll (up to the maximum) would have
// caught the wake, shrinks when the halt was hopelessly long, and never learns from a hit. Wakes
// every 150 us therefore settle at a window of 100 us that always misses: the block time excludes
// the poll, so the gap is never covered. Checked against the kernel's own decisions
// (core/tests/golden).
#include "governor.hpp"

namespace haltpoll::core::haltpoll {

/// Module parameters, names and 32-bit types as in /sys/module/haltpoll/parameters.
struct params {
  u32 guest_halt_poll_ns = 200'000;  ///< cap of the window, and where a block counts as long, ns
  u32 guest_halt_poll_grow = 2;      ///< factor; 0 still grows to grow_start, as in the kernel
  u32 guest_halt_poll_grow_start = 50'000;  ///< floor of a grown window, ns
  u32 guest_halt_poll_shrink = 2;           ///< divisor; 0 drops the window to 0
  u32 guest_halt_poll_allow_shrink = 1;     ///< 0: the window never shrinks
  /// 1 (6.12; since about 6.8): a window shrunk below grow_start becomes 0, so three long blocks
  /// end polling. 0 (6.1): integer division only, about 18 long blocks.
  u32 zero_below_grow_start = 1;
};

struct state {
  u64 window_ns = 0;   ///< the kernel's poll_limit_ns
  u32 last_state = 0;  ///< state left last; starts as 0, as a fresh cpuidle device does
  u32 poll_timed_out =
      0;  ///< the last poll ran out; stale after halts, cleared by the next poll only
};

/// Poll while polling pays: not with a window of 0, and not straight after a poll that ran out.
/// `window_ns` of the decision is 0 where the latency limit forbids halting and nothing has been
/// learnt yet: the poll state then takes its own limit, see poll_limit().
[[gnu::always_inline]] constexpr decision select(const params&, state& s, const request& r) {
  if (r.latency_limit_ns == 0) return {poll_state, false, s.window_ns};
  if (s.window_ns == 0) return {};
  if (s.last_state == poll_state && s.poll_timed_out != 0) return {};
  return {poll_state, false, s.window_ns};
}

/// How long the poll state polls, ns. A window of 0 takes the poll state's own limit *and keeps it
/// as the window*, as cpuidle_poll_time() does: TICK/16 for the haltpoll driver, 250 us at HZ=250,
/// above the maximum even.
[[gnu::always_inline]] constexpr u64 poll_limit(state& s, u64 default_limit_ns) {
  if (s.window_ns == 0) s.window_ns = default_limit_ns;
  return s.window_ns;
}

/// The step of the window after a block, public for the trace point: 1 grew, -1 shrank, 0 left
/// alone.
[[gnu::always_inline]] constexpr int adjust(const params& p, state& s, u64 block_ns) {
  if (block_ns > s.window_ns && block_ns <= p.guest_halt_poll_ns) {
    u32 w = static_cast<u32>(s.window_ns *
                             p.guest_halt_poll_grow);  // the kernel's product is 32 bits wide
    if (w < p.guest_halt_poll_grow_start) w = p.guest_halt_poll_grow_start;
    if (w > p.guest_halt_poll_ns) w = p.guest_halt_poll_ns;
    s.window_ns = w;
    return 1;
  }
  if (block_ns > p.guest_halt_poll_ns && p.guest_halt_poll_allow_shrink != 0) {
    u32 w = 0;
    if (p.guest_halt_poll_shrink != 0) {
      w = static_cast<u32>(s.window_ns) / p.guest_halt_poll_shrink;
      if (p.zero_below_grow_start != 0 && w < p.guest_halt_poll_grow_start) w = 0;
    }
    s.window_ns = w;
    return -1;
  }
  return 0;
}

[[gnu::always_inline]] constexpr void reflect(const params& p, state& s, const outcome& o) {
  if (o.state == poll_state || o.polled_ns != 0 || o.timed_out)
    s.poll_timed_out = o.timed_out ? 1 : 0;
  s.last_state = o.state;
  if (o.state != poll_state) adjust(p, s, o.block_ns);
}

}  // namespace haltpoll::core::haltpoll
