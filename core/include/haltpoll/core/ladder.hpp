#pragma once
// ladder: the Linux cpuidle governor `ladder` (drivers/cpuidle/governors/ladder.c), exact for 6.1
// and 6.12, which decide alike. One step deeper after four stays in a row that outlasted the
// state's exit latency, one step back after a single shorter one.
//
// Two things follow from the kernel's arithmetic and are kept. The stay minus the exit latency is
// compared without sign, so a stay *shorter* than the exit latency counts as an endless one and
// leads deeper; what leads back is a state too slow for the latency limit, or disabled. And the
// polling state has no thresholds: it is entered at a latency limit of 0 only, and left at once.
// Checked against the kernel's own decisions (core/tests/golden).
#include "state_table.hpp"

namespace haltpoll::core::ladder {

inline constexpr u32 promotion_count = 4;  ///< long stays before the next deeper state
inline constexpr u32 demotion_count = 1;   ///< short ones before the next shallower

struct params {
  state_table table;
};

/// Counts of one state.
struct counts {
  u32 promotion = 0;
  u32 demotion = 0;
};

struct state {
  counts of[state_slots] = {};
  u64 residency_ns = 0;  ///< of the stay before; 0 where entering was refused
  u32 current = 0;       ///< where on the ladder
  u32 enabled = 0;       ///< 0: the first select starts at the first state that does not poll
};

[[gnu::always_inline]] constexpr counts& counts_of(state& s, u32 i) {
  return s.of[i % state_slots];
}

/// Goes on to state `next`. The tick is none of ladder's business.
[[gnu::always_inline]] constexpr decision step_to(state& s, u32 next) {
  counts_of(s, s.current) = {};
  s.current = next;
  return {next, true, 0};
}

[[gnu::always_inline]] constexpr decision select(const params& p, state& s, const request& r) {
  const state_table& t = p.table;
  const u32 first = t.states[0].polling != 0 ? 1 : 0;
  if (s.enabled == 0) s.current = first;
  s.enabled = 1;
  const u64 residency = s.residency_ns;
  s.residency_ns = 0;
  if (r.latency_limit_ns == 0) return step_to(s, 0);

  const u32 now = s.current;
  const state_set on = enabled(t, r);
  const u64 exit_latency = at(t, now).exit_latency_ns;
  const u64 left = residency - exit_latency;  // wraps, as in the kernel
  const bool has_thresholds = now >= first;
  counts& c = counts_of(s, now);

  if (now + 1 < t.count && contains(on, now + 1) && left > (has_thresholds ? exit_latency : 0) &&
      at(t, now + 1).exit_latency_ns <= r.latency_limit_ns) {
    c.promotion += 1;
    c.demotion = 0;
    if (c.promotion >= (has_thresholds ? promotion_count : 0)) return step_to(s, now + 1);
  }
  if (now <= first) return {now, true, 0};

  if (!contains(on, now) || exit_latency > r.latency_limit_ns) {
    // Down to the first that is fast enough, enabled or not.
    const state_set between = below(now) & ~below(first + 1);
    return step_to(s, deepest(between & fast_enough(t, r.latency_limit_ns), first));
  }
  if (left < exit_latency) {
    c.demotion += 1;
    c.promotion = 0;
    if (c.demotion >= demotion_count) return step_to(s, now - 1);
  }
  return {now, true, 0};
}

[[gnu::always_inline]] constexpr void reflect(const params&, state& s, const outcome& o) {
  s.residency_ns = o.polled_ns + o.block_ns;
  if (o.state != 0) s.current = o.state;
}

}  // namespace haltpoll::core::ladder
