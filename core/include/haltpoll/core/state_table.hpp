#pragma once
// state_table: the idle states of a machine, as its driver knows them, and sets of them, for the
// governors that choose among them (menu, teo, ladder).
//
// Those governors are called kernel-like (governor.hpp): select before every state, reflect after
// every state that was really entered, and nothing where entering was refused. `window_ns` of what
// they decide is 0: how long the polling state polls is the caller's, as it is cpuidle's.
#include "branchless.hpp"
#include "governor.hpp"

namespace haltpoll::core {

/// CPUIDLE_STATE_MAX.
inline constexpr u32 max_states = 10;
/// Room for them, a power of two: an index masked with it is in bounds, as the BPF verifier sees.
inline constexpr u32 state_slots = 16;

/// One way to be idle. Times in ns, below 2^62.
struct idle_state {
  u64 exit_latency_ns = 0;      ///< from the wake to the first instruction, at worst
  u64 target_residency_ns = 0;  ///< shortest stay that pays
  u32 polling = 0;              ///< 1: spins, and keeps the tick
};

/// Shallowest first. A polling state, where there is one, is state 0. Which of them are disabled is
/// said in every request: it may change at any time.
struct state_table {
  u32 count = 0;  ///< 1 to max_states
  idle_state states[state_slots] = {};
};

/// State `i` of the table.
[[gnu::always_inline]] constexpr const idle_state& at(const state_table& t, u32 i) {
  return t.states[i % state_slots];
}

/// States of a table: bit i is state i.
using state_set = u32;

[[gnu::always_inline]] constexpr bool contains(state_set set, u32 i) {
  return (set >> (i % state_slots) & 1) != 0;
}

/// The states shallower than state `i`.
[[gnu::always_inline]] constexpr state_set below(u32 i) { return (1U << (i % state_slots)) - 1; }

[[gnu::always_inline]] constexpr state_set enabled(const state_table& t, const request& r) {
  return below(t.count) & ~static_cast<state_set>(r.disabled);
}

/// The states whose target residency is `limit_ns` or less. Bits past the table mean nothing, here
/// and in fast_enough().
[[gnu::always_inline]] constexpr state_set paying_within(const state_table& t, s64 limit_ns) {
  const u64 limit = static_cast<u64>(limit_ns < 0 ? -1 : limit_ns);  // keeps the difference small
  u64 set = 0;
  for (u32 i = 0; i < max_states; ++i)
    set |= (1 ^ less(limit, t.states[i].target_residency_ns)) << i;
  return static_cast<state_set>(set);
}

/// The states whose exit latency is `limit_ns` or less.
[[gnu::always_inline]] constexpr state_set fast_enough(const state_table& t, u64 limit_ns) {
  const u64 limit = limit_ns < never / 2 ? limit_ns : never / 2;
  u64 set = 0;
  for (u32 i = 0; i < max_states; ++i) set |= (1 ^ less(limit, t.states[i].exit_latency_ns)) << i;
  return static_cast<state_set>(set);
}

[[gnu::always_inline]] constexpr u32 deepest(state_set set, u32 if_empty) {
  u64 found = if_empty;
  for (u32 i = 0; i < max_states; ++i) found = choose(bit(set, i), i, found);
  return static_cast<u32>(found);
}

[[gnu::always_inline]] constexpr u32 shallowest(state_set set, u32 if_empty) {
  u64 found = if_empty;
  for (u32 i = max_states; i-- > 0;) found = choose(bit(set, i), i, found);
  return static_cast<u32>(found);
}

/// The deepest enabled state shallower than `from` whose target residency is `limit_ns` or less; if
/// there is none, the shallowest enabled one; if there is none, `from`.
[[gnu::always_inline]] constexpr u32 shallower(const state_table& t, const request& r, u32 from,
                                               s64 limit_ns) {
  const state_set candidates = enabled(t, r) & below(from);
  return deepest(candidates & paying_within(t, limit_ns), shallowest(candidates, from));
}

}  // namespace haltpoll::core
