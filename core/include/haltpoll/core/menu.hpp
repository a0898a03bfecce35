#pragma once
// menu: the Linux cpuidle governor `menu` (drivers/cpuidle/governors/menu.c), exact for 6.1 and
// 6.12 as of their stable releases 6.1.192 and 6.12.117.
//
// It predicts how long the CPU will be idle, and takes the deepest state that pays within that. Two
// predictions, the smaller one counts: the time to the next timer, scaled by how much of it used to
// pass before something else came (a factor per order of magnitude of that time), and the typical
// interval, where the last eight stays were alike. Checked against the kernel's own decisions
// (core/tests/golden).
#include "state_table.hpp"

namespace haltpoll::core::menu {

struct params {
  state_table table;
  u64 tick_ns = 4'000'000;  ///< TICK_NSEC: length of the tick, 4 ms at HZ=250
  /// 1: as Linux 6.12; 0: as 6.1. They differ in four things, and no kernel mixes them. 6.12 leaves
  /// I/O waiters out of its reckoning; does not ask for the next timer where the typical interval is
  /// 15 us or less, and takes "never" for the answer; sees no pattern in eight intervals of 0; and
  /// takes the next deeper state in place of polling only where that pays within 15 us.
  u32 as_6_12 = 1;
};

inline constexpr u32 intervals = 8;
inline constexpr u32 buckets = 6;           ///< by the time to the next timer
inline constexpr u32 factor_slots = 16;     ///< 6.1 has twice the buckets; a power of two
inline constexpr u32 unity = 8 * 1024;      ///< factor of a timer that is always the one that wakes
inline constexpr u32 unknown_us = ~0U;      ///< no interval; no typical interval
inline constexpr u64 long_ns = 50'000'000;  ///< stays from here on count as full predictions
/// 6.12: where asking for the next timer costs more than it can save, and what pays at once.
inline constexpr u64 shallow_ns = 15'000;

struct state {
  u32 factors[factor_slots] = {unity, unity, unity, unity, unity, unity,
                               unity, unity, unity, unity, unity, unity};
  u32 intervals_us[intervals] = {};
  u32 oldest = 0;         ///< of intervals_us, the one to be replaced
  u32 bucket = 0;         ///< of the last select
  u64 next_timer_ns = 0;  ///< as the last select saw it
  u64 residency_ns = 0;
  u32 last_state = 0;
  u32 to_learn = 0;   ///< 1: a stay was reflected and is learnt at the next select
  u32 timed_out = 0;  ///< that stay was a poll and ran out
  u32 woken_by_tick = 0;
  u32 asked_timer = 0;  ///< 1: the last select went by next_timer_ns of the request; else unread
};

[[gnu::always_inline]] constexpr u32& factor(state& s) {
  return s.factors[s.bucket % factor_slots];
}

[[gnu::always_inline]] constexpr void remember(state& s, u32 interval_us) {
  s.intervals_us[s.oldest % intervals] = interval_us;
  s.oldest = (s.oldest + 1) % intervals;
}

/// What the stay before says about the prediction before it.
[[gnu::always_inline]] constexpr void learn(const params& p, state& s) {
  const idle_state& last = at(p.table, s.last_state);
  u64 measured = s.residency_ns;
  if (s.woken_by_tick != 0 && s.next_timer_ns > p.tick_ns)
    measured = long_ns / 10 * 9;  // it might have been idle for long, but not forever
  else if (last.polling != 0 && s.timed_out != 0)
    measured = s.next_timer_ns;  // had it not polled it might have slept on to the timer
  else if (measured > 2 * last.exit_latency_ns)
    measured -= last.exit_latency_ns;
  else
    measured /= 2;
  if (measured > s.next_timer_ns) measured = s.next_timer_ns;

  u32 f = factor(s);
  f -= f / 8;
  if (s.next_timer_ns != 0 && measured < long_ns)
    f += static_cast<u32>(1024 * measured / s.next_timer_ns);
  else
    f += 1024;
  factor(s) = f;
  remember(s, static_cast<u32>(measured / 1000));
}

/// The average of the last intervals, us, where they are alike: a standard deviation of 20 us or of
/// a sixth of the average. The largest are left out while more than six remain. unknown_us if there
/// is no such average, and as 6.1 also if no interval is below `below_us`.
[[gnu::always_inline]] constexpr u32 typical_interval(const params& p, const state& s,
                                                      u32 below_us) {
  u64 end = 0x8000'0000;  // only intervals below count: leaves out the unknown ones
  for (u32 round = 0; round < 3; ++round) {
    u64 min = ~0U;
    u64 max = 0;
    u64 count = 0;
    u64 sum = 0;
    for (u32 i = 0; i < intervals; ++i) {
      const u32 v = s.intervals_us[i];
      const u64 in = less(v, end);
      sum += in * v;
      count += in;
      max = choose(in * less(max, v), v, max);
      min = choose(in * less(v, min), v, min);
    }
    if (p.as_6_12 != 0 ? max == 0 : min >= below_us) return unknown_us;
    const u64 average = sum / count;
    u64 variance = 0;
    for (u32 i = 0; i < intervals; ++i) {
      const u32 v = s.intervals_us[i];
      const u64 off = v - average;  // squared, its sign does not matter
      variance += off * off * less(v, end);
    }
    variance /= count;
    if (variance <= never / 36 &&
        ((average * average > variance * 36 && count * 4 >= intervals * 3) || variance <= 400))
      return static_cast<u32>(average);
    if (count * 4 <= intervals * 3) return unknown_us;
    end = max;  // all of the largest go at once
  }
  return unknown_us;
}

/// Of the correction factors, by the time to the next timer.
[[gnu::always_inline]] constexpr u32 bucket_of(u64 next_timer_ns) {
  if (next_timer_ns < 10'000) return 0;
  if (next_timer_ns < 100'000) return 1;
  if (next_timer_ns < 1'000'000) return 2;
  if (next_timer_ns < 10'000'000) return 3;
  if (next_timer_ns < 100'000'000) return 4;
  return 5;
}

/// What select works with: the request as this governor sees it, and the prediction.
struct outlook {
  u64 latency_limit_ns = 0;
  s64 next_event_ns = 0;
  u64 predicted_ns = 0;
};

/// Sets next_timer_ns and bucket. The prediction from the timer is a number of us in 32 bits,
/// wrapped as the kernel's is: a timer more than 71 minutes away predicts garbage there too.
[[gnu::always_inline]] constexpr u32 predict_from_timer(state& s, const request& r, outlook& o,
                                                        u32 first_bucket) {
  const bool overdue = r.next_timer_ns < 0;
  s.asked_timer = 1;
  s.next_timer_ns = overdue ? 0 : static_cast<u64>(r.next_timer_ns);
  o.next_event_ns = overdue ? 0 : r.next_event_ns;
  s.bucket = first_bucket + bucket_of(s.next_timer_ns);
  return static_cast<u32>((s.next_timer_ns * factor(s) + 1000ULL * unity / 2) / (1000ULL * unity));
}

[[gnu::always_inline]] constexpr void predict_as_6_1(const params& p, state& s, const request& r,
                                                     outlook& o) {
  const u32 timer_us = predict_from_timer(s, r, o, r.iowaiters != 0 ? buckets : 0);
  const u32 typical_us = typical_interval(p, s, timer_us);
  o.predicted_ns = 1000ULL * (typical_us < timer_us ? typical_us : timer_us);
}

[[gnu::always_inline]] constexpr void predict_as_6_12(const params& p, state& s, const request& r,
                                                      outlook& o) {
  o.predicted_ns = 1000ULL * typical_interval(p, s, 0);
  if (o.predicted_ns > shallow_ns || r.tick_stopped) {
    const u64 timer_ns = 1000ULL * predict_from_timer(s, r, o, 0);
    if (timer_ns < o.predicted_ns) o.predicted_ns = timer_ns;
  } else {
    s.asked_timer = 0;
    s.next_timer_ns = static_cast<u64>(no_timer);
    o.next_event_ns = static_cast<s64>(p.tick_ns / 2);
    s.bucket = bucket_of(s.next_timer_ns);
  }
}

/// The state to enter, on that outlook.
[[gnu::always_inline]] constexpr decision choose_state(const params& p, const state& s,
                                                       const request& r, outlook o) {
  const state_table& t = p.table;
  const state_set on = enabled(t, r);
  const state_set paying = paying_within(t, static_cast<s64>(o.predicted_ns));
  const state_set fast = fast_enough(t, o.latency_limit_ns);
  // The first that is too deep or too slow, and the one before it.
  const u32 next = shallowest(on & ~(paying & fast), max_states);
  u32 pick = deepest(on & below(next), shallowest(on, 0));
  const bool too_slow = p.as_6_12 != 0 ? !contains(fast, next) : contains(paying, next);

  if (next < t.count && !too_slow) {
    const idle_state& deeper = at(t, next);
    const idle_state& picked = at(t, pick);
    // Rather a real state than polling, unless a timer is near.
    const bool suits = p.as_6_12 != 0 ? deeper.target_residency_ns < shallow_ns &&
                                            deeper.exit_latency_ns <= o.predicted_ns
                                      : contains(fast, next);
    if (picked.polling != 0 && suits && deeper.target_residency_ns <= s.next_timer_ns) {
      o.predicted_ns = deeper.target_residency_ns;
      pick = next;
    } else if (o.predicted_ns >= p.tick_ns) {
      if (r.tick_stopped) {
        // Not to be stuck in a shallow state without a tick.
        const bool would_be_stuck = picked.target_residency_ns < p.tick_ns;
        const bool pays = static_cast<s64>(deeper.target_residency_ns) <= o.next_event_ns;
        return {would_be_stuck && pays ? next : pick, true, 0};
      }
      o.predicted_ns = picked.target_residency_ns;  // the tick runs on and lets us look again
    }
  }
  const idle_state& picked = at(t, pick);
  if (r.tick_stopped || (picked.polling == 0 && o.predicted_ns >= p.tick_ns))
    return {pick, true, 0};
  if (static_cast<s64>(picked.target_residency_ns) > o.next_event_ns)
    pick = shallower(t, r, pick, o.next_event_ns);
  return {pick, false, 0};
}

[[gnu::always_inline]] constexpr decision select(const params& p, state& s, const request& r) {
  if (s.to_learn != 0)
    learn(p, s);
  else
    remember(s, unknown_us);  // entering was refused
  s.to_learn = 0;

  outlook o{.latency_limit_ns = r.latency_limit_ns};
  if (p.as_6_12 != 0)
    predict_as_6_12(p, s, r, o);
  else
    predict_as_6_1(p, s, r, o);

  const state_table& t = p.table;
  if (t.count <= 1 || r.latency_limit_ns == 0 ||
      (contains(enabled(t, r), 0) && (s.next_timer_ns < t.states[1].target_residency_ns ||
                                      r.latency_limit_ns < t.states[1].exit_latency_ns)))
    return {0, t.states[0].polling == 0, 0};

  if (r.tick_stopped) {
    // A wrong guess would cost most now: go by what is known.
    if (o.predicted_ns < p.tick_ns) o.predicted_ns = s.next_timer_ns;
  } else if (p.as_6_12 == 0) {
    // The more tasks wait for I/O, the less latency is tolerated.
    const u64 tolerated = o.predicted_ns / (1 + 10ULL * r.iowaiters);
    if (tolerated < o.latency_limit_ns) o.latency_limit_ns = tolerated;
  }
  return choose_state(p, s, r, o);
}

[[gnu::always_inline]] constexpr void reflect(const params&, state& s, const outcome& o) {
  s.last_state = o.state;
  s.residency_ns = o.polled_ns + o.block_ns;
  s.timed_out = o.timed_out ? 1 : 0;
  s.woken_by_tick = o.woken_by_tick ? 1 : 0;
  s.to_learn = 1;
}

}  // namespace haltpoll::core::menu
