// Properties that hold for every parameter set and every history, not only for the recorded ones.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <haltpoll/core/any.hpp>
#include <haltpoll/core/any_state.hpp>
#include <haltpoll/core/spec.hpp>
#include <string>
#include <vector>

namespace haltpoll::core {
namespace {

/// Times as they matter here: from 0 up to seconds, every magnitude alike; sometimes all 64 bits.
rc::Gen<u64> some_time() {
  return rc::gen::map(rc::gen::pair(rc::gen::inRange(0, 65), rc::gen::arbitrary<u64>()),
                      [](const std::pair<int, u64>& p) {
                        return p.first == 0 ? u64{0} : p.second >> (64 - p.first);
                      });
}

rc::Gen<u32> some_u32() {
  return rc::gen::map(some_time(), [](u64 v) { return static_cast<u32>(v); });
}

haltpoll::params some_params() {
  return {.guest_halt_poll_ns = *some_u32(),
          .guest_halt_poll_grow = *rc::gen::oneOf(rc::gen::inRange<u32>(0, 5), some_u32()),
          .guest_halt_poll_grow_start = *some_u32(),
          .guest_halt_poll_shrink = *rc::gen::oneOf(rc::gen::inRange<u32>(0, 5), some_u32()),
          .guest_halt_poll_allow_shrink = *rc::gen::inRange<u32>(0, 2),
          .zero_below_grow_start = *rc::gen::inRange<u32>(0, 2)};
}

bool equal(const haltpoll::state& a, const haltpoll::state& b) {
  return a.window_ns == b.window_ns && a.last_state == b.last_state &&
         a.poll_timed_out == b.poll_timed_out;
}

RC_GTEST_PROP(haltpoll_properties, a_grown_window_is_at_most_the_maximum, ()) {
  const haltpoll::params p = some_params();
  haltpoll::state s{.window_ns = *some_u32()};
  const u64 before = s.window_ns;
  const int event = haltpoll::adjust(p, s, *some_time());
  if (event == 1) RC_ASSERT(s.window_ns <= p.guest_halt_poll_ns);
  if (event == 0) RC_ASSERT(s.window_ns == before);
  if (event == -1) RC_ASSERT(s.window_ns <= before);
}

RC_GTEST_PROP(haltpoll_properties, the_window_changes_only_after_a_halt, ()) {
  const haltpoll::params p = some_params();
  haltpoll::state s{.window_ns = *some_u32()};
  const u64 before = s.window_ns;
  for (const u64 polled : *rc::gen::container<std::vector<u64>>(some_time())) {
    haltpoll::select(p, s, {});
    haltpoll::reflect(
        p, s, {.state = poll_state, .timed_out = *rc::gen::arbitrary<bool>(), .polled_ns = polled});
  }
  RC_ASSERT(s.window_ns == before);
}

/// One idle period as the process, wait and BPF backends tell it: at most one reflect.
void period(const haltpoll::params& p, haltpoll::state& s, u64 idle_ns) {
  const decision d = haltpoll::select(p, s, {});
  if (d.state == poll_state && idle_ns <= d.window_ns)
    haltpoll::reflect(p, s, {.state = poll_state, .polled_ns = idle_ns});
  else
    haltpoll::reflect(p, s,
                      {.state = halt_state,
                       .timed_out = d.state == poll_state,
                       .polled_ns = d.window_ns,
                       .block_ns = idle_ns - d.window_ns});
}

/// The same period as the kernel's idle loop tells it: every state that was left.
void kernel_like(const haltpoll::params& p, haltpoll::state& s, u64 idle_ns) {
  for (u64 left = idle_ns;;) {
    const decision d = haltpoll::select(p, s, {});
    if (d.state != poll_state) return haltpoll::reflect(p, s, {.state = d.state, .block_ns = left});
    const bool hit = left <= d.window_ns;
    haltpoll::reflect(
        p, s, {.state = poll_state, .timed_out = !hit, .polled_ns = std::min(left, d.window_ns)});
    if (hit) return;
    left -= d.window_ns;
  }
}

RC_GTEST_PROP(haltpoll_properties, a_period_caller_and_the_kernels_loop_learn_the_same, ()) {
  const haltpoll::params p = some_params();
  haltpoll::state one;
  haltpoll::state other;
  for (const u64 idle_ns : *rc::gen::container<std::vector<u64>>(some_time())) {
    period(p, one, idle_ns);
    kernel_like(p, other, idle_ns);
    RC_ASSERT(equal(one, other));
  }
}

RC_GTEST_PROP(host_properties, a_chosen_window_is_at_most_the_cap, ()) {
  const host::params p{.halt_poll_ns = *some_u32(),
                       .halt_poll_ns_grow = *some_u32(),
                       .halt_poll_ns_grow_start = *some_u32(),
                       .halt_poll_ns_shrink = *some_u32(),
                       .vm_cap_ns = *some_u32(),
                       .has_vm_cap = *rc::gen::inRange<u32>(0, 2)};
  host::state s;
  for (const u64 halt_ns : *rc::gen::container<std::vector<u64>>(some_time())) {
    RC_ASSERT(host::select(p, s, {}).window_ns <= host::max_window(p));
    host::reflect(p, s, {.spurious = *rc::gen::arbitrary<bool>(), .block_ns = halt_ns});
  }
}

/// A penalty curve: straight lines between corners, cost in ns of CPU. The slope of each is 0 to 1,
/// that is, it never falls and grows no faster than time.
struct curve {
  struct line {
    u64 from_ns;
    u64 slope_percent;
  };
  u64 start_ns;
  std::vector<line> lines;

  u64 at(u64 halted_ns) const {
    u64 penalty = start_ns;
    for (std::size_t i = 0; i < lines.size() && lines[i].from_ns < halted_ns; ++i) {
      const u64 end = i + 1 < lines.size() ? std::min(lines[i + 1].from_ns, halted_ns) : halted_ns;
      penalty += (end - lines[i].from_ns) * lines[i].slope_percent / 100;
    }
    return penalty;
  }
};

RC_GTEST_PROP(breakeven_properties, pays_at_most_twice_the_clairvoyants_cost, ()) {
  const breakeven::params p{.wake_ns = *rc::gen::inRange<u64>(1, 60'000),
                            .latency_price = *rc::gen::inRange<u64>(1, 17)};
  curve penalty{breakeven::window(p), {}};
  u64 from = 0;
  for (int i = *rc::gen::inRange(0, 8); i > 0; --i) {
    penalty.lines.push_back({from, *rc::gen::inRange<u64>(0, 101)});
    from += *rc::gen::inRange<u64>(1, 500'000);
  }
  const u64 idle_ns = *rc::gen::oneOf(rc::gen::inRange<u64>(1, 4 * breakeven::window(p)),
                                      rc::gen::inRange<u64>(1, 5'000'000));
  breakeven::state s;
  const u64 window = breakeven::select(p, s, {}).window_ns;
  const u64 cost = idle_ns <= window ? idle_ns : window + penalty.at(idle_ns - window);
  RC_ASSERT(cost <= 2 * std::min(idle_ns, penalty.at(idle_ns)));
}

/// Two to ten states, each slower and deeper than the one before.
state_table some_table() {
  state_table t{.count = *rc::gen::inRange<u32>(2, max_states + 1)};
  t.states[0].polling = *rc::gen::inRange<u32>(0, 2);
  for (u32 i = t.states[0].polling; i < t.count; ++i) {
    const idle_state& before = t.states[i == 0 ? 0 : i - 1];
    t.states[i].exit_latency_ns = before.exit_latency_ns + *rc::gen::inRange<u64>(1, 500'000);
    t.states[i].target_residency_ns =
        before.target_residency_ns + *rc::gen::inRange<u64>(1, 3'000'000);
  }
  return t;
}

any_state::params some_state_params(any_state::kind which) {
  const state_table t = some_table();
  const u64 tick_ns = *rc::gen::element<u64>(1'000'000, 4'000'000, 10'000'000);
  const u32 as_6_12 = *rc::gen::inRange<u32>(0, 2);
  any_state::params p;
  p.which = which;
  p.menu = {t, tick_ns, as_6_12};
  p.teo = {t, tick_ns, as_6_12};
  p.ladder = {t};
  return p;
}

request some_request(const state_table& t) {
  request r;
  r.latency_limit_ns =
      *rc::gen::oneOf(rc::gen::just(never), rc::gen::just(u64{0}), some_time(),
                      rc::gen::just(t.states[*rc::gen::inRange<u32>(0, t.count)].exit_latency_ns));
  r.next_timer_ns = static_cast<s64>(*some_time());
  r.next_event_ns =
      *rc::gen::oneOf(rc::gen::just(r.next_timer_ns), rc::gen::inRange<s64>(-5, 4'000'001));
  r.disabled = *rc::gen::oneOf(rc::gen::just(u64{0}), rc::gen::arbitrary<u64>());
  r.iowaiters = *rc::gen::inRange<u32>(0, 3);
  r.tick_stopped = *rc::gen::arbitrary<bool>();
  return r;
}

/// Some periods of a governor; `holds` is asked about every decision.
template <typename property>
void histories(any_state::kind which, property holds) {
  const any_state::params p = some_state_params(which);
  const state_table& t = p.ladder.table;
  any_state::state s;
  for (int i = *rc::gen::inRange(1, 40); i > 0; --i) {
    const request r = some_request(t);
    const any_state::state before = s;
    const decision d = any_state::select(p, s, r);
    RC_ASSERT(d.state < t.count);
    RC_ASSERT(d.window_ns == 0);
    holds(p, before, r, d);
    if (*rc::gen::inRange(0, 8) == 0) continue;  // refused
    outcome o{.state = d.state,
              .timed_out = *rc::gen::arbitrary<bool>(),
              .block_ns = *some_time(),
              .woken_by_tick = *rc::gen::arbitrary<bool>()};
    o.span_ns = static_cast<s64>(o.block_ns / 2) + *rc::gen::inRange<s64>(0, 3'000);
    any_state::reflect(p, s, o);
  }
}

RC_GTEST_PROP(menu_properties, a_state_is_enabled_and_fast_enough_unless_the_kernel_differs, ()) {
  histories(any_state::kind::menu, [](const auto& p, const auto&, const request& r, decision d) {
    const state_table& t = p.menu.table;
    const state_set on = enabled(t, r);
    if (on == 0 || r.latency_limit_ns == 0) return RC_ASSERT(d.state == 0);
    RC_ASSERT(contains(on, d.state));
    // The shallowest is taken whatever it takes; and not to be stuck without a tick, 6.1 looks at
    // no latency.
    const bool fast = at(t, d.state).exit_latency_ns <= r.latency_limit_ns;
    RC_ASSERT(fast || d.state == shallowest(on, 0) || (p.menu.as_6_12 == 0 && r.tick_stopped));
  });
}

RC_GTEST_PROP(teo_properties, a_state_is_enabled_and_fast_enough_unless_the_kernel_differs, ()) {
  histories(any_state::kind::teo, [](const auto& p, const auto&, const request& r, decision d) {
    const state_table& t = p.teo.table;
    const state_set on = enabled(t, r);
    // Where none is fast enough, state 0 is taken even if it is disabled; where there is no choice,
    // the shallowest, however slow.
    RC_ASSERT(contains(on, d.state) || d.state == 0);
    const bool fast = at(t, d.state).exit_latency_ns <= r.latency_limit_ns;
    RC_ASSERT(fast || d.state == shallowest(on, 0) || d.state == 0);
  });
}

RC_GTEST_PROP(teo_properties, the_total_is_that_of_all_counts, ()) {
  histories(any_state::kind::teo, [](const auto&, const auto& before, const request&, decision) {
    u64 sum = before.teo.tick_hits;
    for (const teo::bin& b : before.teo.bins) sum += b.hits + b.intercepts;
    if (before.teo.total != 0) RC_ASSERT(sum == before.teo.total);
    u32 recent = 0;
    for (const teo::bin& b : before.teo.bins) recent += b.recent;
    RC_ASSERT(recent <= teo::recent_periods);
  });
}

RC_GTEST_PROP(menu_properties, a_kept_tick_is_not_slept_through, ()) {
  histories(any_state::kind::menu, [](const auto& p, const auto&, const request& r, decision d) {
    const state_table& t = p.menu.table;
    if (d.stop_tick || d.state == shallowest(enabled(t, r), 0)) return;
    // Half a tick is what 6.12 takes for the next event where it does not ask.
    const s64 half_a_tick = p.menu.as_6_12 != 0 ? static_cast<s64>(p.menu.tick_ns / 2) : 0;
    RC_ASSERT(static_cast<s64>(at(t, d.state).target_residency_ns) <=
              std::max(r.next_event_ns, half_a_tick));
  });
}

RC_GTEST_PROP(menu_properties, no_factor_leaves_its_range, ()) {
  histories(any_state::kind::menu, [](const auto&, const auto& before, const request&, decision) {
    for (u32 i = 0; i < 2 * menu::buckets; ++i) {
      RC_ASSERT(before.menu.factors[i] > 0);
      RC_ASSERT(before.menu.factors[i] <= menu::unity);
    }
  });
}

RC_GTEST_PROP(ladder_properties, climbs_one_step_at_a_time_to_states_that_are_allowed, ()) {
  histories(any_state::kind::ladder,
            [](const auto& p, const auto& before, const request& r, decision d) {
              const state_table& t = p.ladder.table;
              const u32 first = t.states[0].polling;
              const u32 now = before.ladder.enabled != 0 ? before.ladder.current : first;
              RC_ASSERT(d.stop_tick);
              RC_ASSERT(d.state <= now + 1);
              if (d.state > now) {
                RC_ASSERT(contains(enabled(t, r), d.state));
                RC_ASSERT(at(t, d.state).exit_latency_ns <= r.latency_limit_ns);
              }
              if (r.latency_limit_ns == 0) return RC_ASSERT(d.state == 0);
              RC_ASSERT(d.state >= std::min(now, first));
            });
}

std::string formatted(const any::params& p) {
  char buffer[spec::max_length];
  spec::line out{buffer, sizeof buffer};
  spec::format(p, out);
  return {buffer, out.size};
}

RC_GTEST_PROP(spec_properties, what_is_accepted_comes_back, ()) {
  any::params p;
  p.which = static_cast<any::kind>(*rc::gen::inRange(0, 4));
  for (const spec::key& k : spec::keys)
    if (*rc::gen::arbitrary<bool>()) k.set(p, *some_time() % (k.max + 1));
  const std::string text = formatted(p);
  const spec::result r = spec::parse(text.c_str());
  // Ranges hold by construction; only combinations may be refused.
  RC_ASSERT(r.code == spec::error::none || r.code == spec::error::start_above_max ||
            (r.code == spec::error::out_of_range && p.which == any::kind::breakeven));
  RC_ASSERT(formatted(r.params) == text);
}

}  // namespace
}  // namespace haltpoll::core
