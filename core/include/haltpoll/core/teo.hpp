#pragma once
// teo: the Linux cpuidle governor `teo`, "timer events oriented"
// (drivers/cpuidle/governors/teo.c), exact for 6.1 and 6.12 as of their stable releases 6.1.192
// and 6.12.117.
//
// Timers are what ends most idle periods, and the time to the next one is known. So it counts, in
// one bin per state, how often a period lasted as long as the timer said (a hit) and how often
// something came so much earlier that a shallower state would have paid (an intercept), both
// decaying by an eighth per period; it takes the deepest state, or the one that most intercepts
// point at. Checked against the kernel's own decisions (core/tests/golden).
#include "state_table.hpp"

namespace haltpoll::core::teo {

struct params {
  state_table table;
  u64 tick_ns = 4'000'000;  ///< TICK_NSEC: length of the tick, 4 ms at HZ=250
  /// 1: as Linux 6.12; 0: as 6.1. They differ in four things, and no kernel mixes them. 6.12 asks
  /// for the next timer only where its counts leave a state worth the question, and takes "never"
  /// for the answer otherwise; counts hits beyond the tick apart where no state reaches that far;
  /// keeps the tick where most wake-ups come before it; and goes by target residencies. 6.1 asks
  /// first, heeds the intercepts among the last nine periods beside the decaying counts, and goes
  /// by the middles of bins.
  u32 as_6_12 = 1;
};

inline constexpr u32 pulse = 1024;  ///< what one period adds to a count
inline constexpr u32 recent_periods = 9;
inline constexpr u32 no_state = ~0U;
inline constexpr u64 shallow_ns = 15'000;  ///< 6.12: below it the next timer is not asked for

/// Counts of one state: of the periods from its target residency to the next state's.
struct bin {
  u32 intercepts = 0;
  u32 hits = 0;
  u32 recent = 0;  ///< intercepts among the last `recent_periods`; 6.1 only
};

struct state {
  bin bins[state_slots] = {};
  u32 tick_hits = 0;  ///< 6.12 only
  u32 total = 0;      ///< of all counts, as of the last period
  /// Where each of the last `recent_periods` was intercepted, no_state: it was a hit; 6.1 only.
  u32 recent[state_slots] = {no_state, no_state, no_state, no_state, no_state,
                             no_state, no_state, no_state, no_state};
  u32 oldest = 0;      ///< of `recent`, the one to be replaced
  u32 last_state = 0;  ///< of the stay to be learnt; no_state: entering was refused
  s64 sleep_ns = 0;    ///< time to the next timer as the last select saw it
  s64 span_ns = 0;     ///< how long the period lasted; sleep_ns where a safety net ended it
  u64 residency_ns = 0;
  u32 asked_timer = 0;  ///< 1: the last select went by next_timer_ns of the request; else unread
};

[[gnu::always_inline]] constexpr bin& bin_of(state& s, u32 i) { return s.bins[i % state_slots]; }

[[gnu::always_inline]] constexpr s64 residency(const state_table& t, u32 i) {
  return static_cast<s64>(at(t, i).target_residency_ns);
}

/// Between the target residencies of state `i` and the next.
[[gnu::always_inline]] constexpr s64 middle_of_bin(const state_table& t, u32 i) {
  return static_cast<s64>((at(t, i).target_residency_ns + at(t, i + 1).target_residency_ns) / 2);
}

/// How long the CPU was really idle, ns; no_timer: until the timer.
[[gnu::always_inline]] constexpr s64 measured(const params& p, const state& s) {
  if (s.span_ns >= s.sleep_ns) return no_timer;
  // Of the exit latency, which is the worst case, half.
  const u64 exit_latency = at(p.table, s.last_state).exit_latency_ns;
  const u64 ns =
      s.residency_ns >= exit_latency ? s.residency_ns - exit_latency / 2 : s.residency_ns / 2;
  return ns < static_cast<u64>(no_timer) ? static_cast<s64>(ns) : no_timer;
}

/// The recent intercepts of 6.1; `i` is the bin of the newest, no_state if it was a hit.
[[gnu::always_inline]] constexpr void remember(state& s, u32 i) {
  u32& slot = s.recent[s.oldest % state_slots];
  s.oldest = s.oldest + 1 == recent_periods ? 0 : s.oldest + 1;
  if (slot != no_state) bin_of(s, slot).recent -= 1;
  if (i != no_state) bin_of(s, i).recent += 1;
  slot = i;
}

/// What the stay before says about the expectation before it.
[[gnu::always_inline]] constexpr void learn(const params& p, state& s) {
  const state_table& t = p.table;
  const s64 tick = static_cast<s64>(p.tick_ns);
  const s64 measured_ns = measured(p, s);
  u32 total = pulse;
  for (bin& b : s.bins) {  // those of no state stay 0
    b.hits -= b.hits >> 3;
    b.intercepts -= b.intercepts >> 3;
    total += b.hits + b.intercepts;
  }
  const bool has_tick_bin = p.as_6_12 != 0 && residency(t, t.count - 1) < tick;
  if (has_tick_bin) {
    s.tick_hits -= s.tick_hits >> 3;
    total += s.tick_hits;
  }
  s.total = total;

  const bool beyond_tick = has_tick_bin && tick <= s.sleep_ns;
  if (beyond_tick && tick <= measured_ns) {
    s.tick_hits += pulse;
    return;
  }
  const state_set by_timer = below(t.count) & paying_within(t, s.sleep_ns);
  const u32 came_in = deepest(by_timer & paying_within(t, measured_ns), 0);
  const bool hit = !beyond_tick && came_in == deepest(by_timer, 0);
  if (hit)
    bin_of(s, came_in).hits += pulse;
  else
    bin_of(s, came_in).intercepts += pulse;
  if (p.as_6_12 == 0) remember(s, hit ? no_state : came_in);
}

/// The counts of all states shallower than state `i`.
[[gnu::always_inline]] constexpr bin sum_below(const state& s, u32 i) {
  bin sum{};
  for (u32 j = 0; j < max_states; ++j) {
    const u32 in = static_cast<u32>(bit(below(i), j));
    sum.intercepts += in * s.bins[j].intercepts;
    sum.hits += in * s.bins[j].hits;
    sum.recent += in * s.bins[j].recent;
  }
  return sum;
}

/// Where most of the intercepts below `pick` go: the deepest state that over half of them reached,
/// by the counts for which `many` and `many_recent` (1 or 0) say that this is asked. With the tick
/// stopped only states in `long_enough` are taken, lest a shallow one hold the CPU for too long:
/// instead of another one the shallowest such state on the way is, but where the way begins with a
/// state that is not in it, `pick` stays.
[[gnu::always_inline]] constexpr u32 alternative(const state& s, u32 pick, state_set on,
                                                 state_set long_enough, const bin& before, u64 many,
                                                 u64 many_recent) {
  u64 majority = 0;
  u32 intercepts = 0;
  u32 recent = 0;
  for (u32 i = max_states; i-- > 0;) {
    const u32 in = static_cast<u32>(bit(below(pick), i));
    intercepts += in * s.bins[i].intercepts;
    recent += in * s.bins[i].recent;
    const u64 enough = less(before.intercepts, 2 * intercepts) | (1 ^ many);
    const u64 enough_recent = less(before.recent, 2 * recent) | (1 ^ many_recent);
    majority |= (in & enough & enough_recent) << i;
  }
  if (majority == 0) return pick;
  const u32 there = deepest(static_cast<state_set>(majority), 0);
  const state_set passed = on & below(pick) & ~below(there + 1);
  if (passed != 0 && !contains(long_enough, deepest(passed, 0))) return pick;
  if (contains(on & long_enough, there)) return there;
  return shallowest(passed & long_enough, pick);
}

/// The end of either version: whether to stop the tick, and where it goes on, a state that pays
/// before it.
[[gnu::always_inline]] constexpr decision with_tick(const params& p, const request& r, u32 pick,
                                                    u32 first, s64 duration_ns, s64 next_event_ns) {
  const state_table& t = p.table;
  if (r.tick_stopped || (at(t, pick).polling == 0 && duration_ns >= static_cast<s64>(p.tick_ns)))
    return {pick, true, 0};
  if (pick > first && residency(t, pick) > next_event_ns)
    pick = shallower(t, r, pick, next_event_ns);
  return {pick, false, 0};
}

[[gnu::always_inline]] constexpr decision select_as_6_1(const params& p, state& s,
                                                        const request& r) {
  const state_table& t = p.table;
  s64 duration = r.next_timer_ns;
  s.sleep_ns = duration;
  s.asked_timer = 1;

  const state_set on = enabled(t, r);
  const u32 first = shallowest(on, 0);
  const state_set paying = paying_within(t, duration);
  // All that pay before the timer, up to the first that does not.
  const state_set deeper = on & ~1U & below(shallowest(on & ~1U & ~paying, max_states));
  u32 pick = deepest(deeper, first);
  if (pick == first || (contains(on, 0) && !contains(paying, 1)))
    return with_tick(p, r, first, first, duration, r.next_event_ns);

  const bin before = sum_below(s, pick);
  const u64 many = less(s.total - before.hits, 2 * before.intercepts);
  const u64 many_recent = less(recent_periods / 2, before.recent);
  if ((many | many_recent) != 0) {
    u64 long_enough = never;
    if (r.tick_stopped)
      for (u32 i = 0; i < max_states; ++i)
        long_enough ^= less(static_cast<u64>(middle_of_bin(t, i)), p.tick_ns) << i;
    const u32 other =
        alternative(s, pick, on, static_cast<state_set>(long_enough), before, many, many_recent);
    if (other != pick) duration = middle_of_bin(t, other);
    pick = other;
  }
  const u32 limit = deepest(deeper & fast_enough(t, r.latency_limit_ns), 0);
  if (pick > limit) pick = limit;
  return with_tick(p, r, pick, first, duration, r.next_event_ns);
}

[[gnu::always_inline]] constexpr decision select_as_6_12(const params& p, state& s,
                                                         const request& r) {
  const state_table& t = p.table;
  const s64 half_a_tick = static_cast<s64>(p.tick_ns / 2);
  s.sleep_ns = no_timer;
  s.asked_timer = 0;

  const state_set on = enabled(t, r);
  const u32 first = shallowest(on, 0);
  u32 pick = deepest(on, 0);
  if (t.count < 2 || on == 0) return {0, false, 0};
  if (pick == first)  // the only one
    return with_tick(p, r, pick, first, residency(t, pick), half_a_tick);

  const bin before = sum_below(s, pick);
  const u64 many = less(s.total - before.hits, 2 * before.intercepts);
  if (many != 0) {
    const state_set past_tick = ~paying_within(t, static_cast<s64>(p.tick_ns) - 1);
    pick = alternative(s, pick, on, r.tick_stopped ? past_tick : ~0U, before, many, 0);
  }
  if (pick == 0) {
    // Asked all the same: whether this guess was right shows only against the timer.
    s.sleep_ns = r.next_timer_ns;
    s.asked_timer = 1;
    return {0, false, 0};
  }
  const u32 limit = deepest(on & ~1U & fast_enough(t, r.latency_limit_ns), 0);
  if (pick > limit) pick = limit;
  if (pick == 0 || (t.states[0].polling != 0 && at(t, pick).target_residency_ns < shallow_ns))
    return {pick, false, 0};

  s64 duration = r.next_timer_ns;
  s.sleep_ns = duration;
  s.asked_timer = 1;
  if (residency(t, pick) > duration) pick = shallower(t, r, pick, duration);
  // No reason to stop the tick where most wake-ups come before it.
  if (at(t, pick).target_residency_ns < p.tick_ns &&
      sum_below(s, t.count).intercepts > s.total / 2 + s.total / 8)
    duration = half_a_tick;
  return with_tick(p, r, pick, first, duration, r.next_event_ns);
}

[[gnu::always_inline]] constexpr decision select(const params& p, state& s, const request& r) {
  if (s.last_state != no_state) learn(p, s);
  s.last_state = no_state;
  return p.as_6_12 != 0 ? select_as_6_12(p, s, r) : select_as_6_1(p, s, r);
}

[[gnu::always_inline]] constexpr void reflect(const params& p, state& s, const outcome& o) {
  s.last_state = o.state;
  s.residency_ns = o.polled_ns + o.block_ns;
  // A poll that ran out, or a tick that ended what should have lasted longer, says nothing about
  // how long the CPU would have been idle.
  const bool safety_net =
      o.timed_out || (o.woken_by_tick && s.sleep_ns > static_cast<s64>(p.tick_ns));
  s.span_ns = safety_net ? s.sleep_ns : o.span_ns;
}

}  // namespace haltpoll::core::teo
