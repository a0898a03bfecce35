// The governors in the kernel decide as they do here: every governor, random parameters and
// histories.
#include <gtest/gtest.h>

#include <random>

#include "kernel_runner.hpp"

namespace haltpoll::golden {
namespace {

using core::u32;
using core::u64;

constexpr int histories = 200;
constexpr int steps_per_history = 50;

class random_steps {
 public:
  explicit random_steps(u32 seed) : random_(seed) {}

  /// Every magnitude alike, and now and then exactly what the window is compared with.
  u64 time(std::initializer_list<u64> edges = {}) {
    const u64 kind = random_() % 4;
    if (kind == 0 && edges.size() != 0) {
      const u64 edge = *(edges.begin() + random_() % edges.size());
      return edge + random_() % 3 - 1;
    }
    return random_() >> (random_() % 64);
  }
  u32 small_or_any() { return static_cast<u32>(random_() % 2 == 0 ? random_() % 5 : time()); }
  bool coin() { return random_() % 2 == 0; }

  core::any::params params(core::any::kind which) {
    core::any::params p;
    p.which = which;
    p.haltpoll = {static_cast<u32>(time({200'000})),
                  small_or_any(),
                  static_cast<u32>(time()),
                  small_or_any(),
                  coin(),
                  coin()};
    p.host = {static_cast<u32>(time({200'000})),
              small_or_any(),
              static_cast<u32>(time()),
              small_or_any(),
              coin() ? 0 : static_cast<u32>(time()),
              coin(),
              random_() % 8 == 0};
    p.fixed = {coin() ? 0 : time()};
    p.breakeven = {coin() ? 0 : time(), time()};
    return p;
  }

  void next(step& s) {
    const u64 window = window_of(s);
    const u64 max = s.params.which == core::any::kind::host ? s.params.host.halt_poll_ns
                                                            : s.params.haltpoll.guest_halt_poll_ns;
    s.request.latency_limit_ns = random_() % 8 == 0 ? 0 : core::never;
    s.default_limit_ns = s.params.which == core::any::kind::haltpoll && coin() ? 250'000 : 0;
    s.entered = random_() % 16 != 0;
    s.outcome.state = coin() ? core::poll_state : core::halt_state;
    s.outcome.timed_out = coin();
    s.outcome.spurious = random_() % 8 == 0;
    s.outcome.polled_ns = coin() ? 0 : time({window});
    s.outcome.block_ns = time({window, max});
  }

 private:
  std::mt19937_64 random_;
};

bool equal(const step& a, const step& b) {
  return a.decision.state == b.decision.state && a.decision.stop_tick == b.decision.stop_tick &&
         a.decision.window_ns == b.decision.window_ns && a.event == b.event &&
         a.state.haltpoll.window_ns == b.state.haltpoll.window_ns &&
         a.state.haltpoll.last_state == b.state.haltpoll.last_state &&
         a.state.haltpoll.poll_timed_out == b.state.haltpoll.poll_timed_out &&
         a.state.host.window_ns == b.state.host.window_ns;
}

class in_the_kernel : public testing::TestWithParam<core::any::kind> {};

TEST_P(in_the_kernel, decides_as_natively) {
  kernel_runner kernel;
  if (kernel.refused()) GTEST_SKIP() << kernel.error();
  ASSERT_EQ(kernel.error(), "");
  random_steps random(static_cast<u32>(GetParam()) + 1);
  int polls = 0;
  int halts = 0;
  for (int h = 0; h < histories; ++h) {
    step native;
    native.params = random.params(GetParam());
    for (int i = 0; i < steps_per_history; ++i) {
      random.next(native);
      step there = native;
      run(native);
      ASSERT_TRUE(kernel.run(there)) << kernel.error();
      ASSERT_TRUE(equal(native, there)) << "history " << h << ", step " << i;
      ASSERT_NE(native.event, event_inconsistent);
      ++(native.decision.state == core::poll_state ? polls : halts);
    }
  }
  EXPECT_GT(polls, 100) << "the histories must be of both kinds to prove anything";
  EXPECT_GT(halts, 100);
}

INSTANTIATE_TEST_SUITE_P(every_governor, in_the_kernel,
                         testing::Values(core::any::kind::haltpoll, core::any::kind::host,
                                         core::any::kind::fixed, core::any::kind::breakeven));

/// Steps of the governors that choose among idle states, on random machines.
class random_state_steps {
 public:
  explicit random_state_steps(u32 seed) : random_(seed) {}

  /// Up to ten states, each slower and deeper than the one before, and a length that fits it.
  core::any_state::params params(core::any_state::kind which) {
    core::state_table t;
    t.count = 1 + below(core::max_states);
    t.states[0].polling = below(2);
    for (u32 i = t.states[0].polling; i < t.count; ++i) {
      const core::idle_state& before = t.states[i == 0 ? 0 : i - 1];
      t.states[i].exit_latency_ns = before.exit_latency_ns + below(1U << (8 + 2 * i));
      t.states[i].target_residency_ns = before.target_residency_ns + below(1U << (10 + 2 * i));
    }
    core::any_state::params p;
    p.which = which;
    const u64 tick_ns = below(2) == 0 ? 4'000'000 : 1'000'000;
    p.menu = {t, tick_ns, below(2)};
    p.teo = {t, tick_ns, below(2)};
    p.ladder = {t};
    steady_ns_ = random_() >> (34 + below(24));
    return p;
  }

  void next(state_step& s) {
    const core::state_table& t = s.params.ladder.table;
    s.request = {};
    if (below(4) == 0) s.request.latency_limit_ns = below(4) == 0 ? 0 : time(t);
    if (below(16) != 0) s.request.next_timer_ns = static_cast<core::s64>(time(t)) - 1;
    s.request.next_event_ns = below(2) == 0 ? s.request.next_timer_ns : below(4'000'000);
    if (below(4) == 0) s.request.disabled = random_();
    s.request.iowaiters = below(4) == 0 ? below(5) : 0;
    s.request.tick_stopped = below(4) == 0;
    s.entered = below(16) != 0;
    s.outcome = {};
    s.outcome.state = below(4) == 0 ? below(t.count) : s.decision.state;
    s.outcome.timed_out = below(8) == 0;
    s.outcome.woken_by_tick = below(8) == 0;
    s.outcome.block_ns = time(t);
    s.outcome.span_ns = static_cast<core::s64>(s.outcome.block_ns) + below(2'000);
  }

 private:
  u32 below(u32 bound) { return static_cast<u32>(random_() % bound); }

  /// Mostly alike, so that there are patterns; else an edge of the table, or any magnitude.
  u64 time(const core::state_table& t) {
    const u32 kind = below(8);
    const core::idle_state& edge = t.states[below(t.count)];
    if (kind == 0) return edge.target_residency_ns + below(3);
    if (kind == 1) return edge.exit_latency_ns + below(3);
    if (kind == 2) return random_() >> (1 + below(63));
    return steady_ns_ + below(static_cast<u32>(steady_ns_ / 16) + 1);
  }

  std::mt19937_64 random_;
  u64 steady_ns_ = 0;
};

bool equal(const state_step& a, const state_step& b) {
  return a.decision.state == b.decision.state && a.decision.stop_tick == b.decision.stop_tick &&
         a.decision.window_ns == b.decision.window_ns && a.asked_timer == b.asked_timer &&
         a.inner == b.inner;
}

class states_in_the_kernel : public testing::TestWithParam<core::any_state::kind> {};

TEST_P(states_in_the_kernel, are_chosen_as_natively) {
  kernel_runner kernel;
  if (kernel.refused()) GTEST_SKIP() << kernel.error();
  ASSERT_EQ(kernel.error(), "");
  random_state_steps random(static_cast<u32>(GetParam()) + 1);
  int chosen[core::max_states] = {};
  for (int h = 0; h < 4 * histories; ++h) {
    state_step native;
    native.params = random.params(GetParam());
    core::any_state::state state_there;
    for (int i = 0; i < steps_per_history; ++i) {
      random.next(native);
      state_step there = native;
      there.state = state_there;
      run(native);
      ASSERT_TRUE(kernel.run(there)) << kernel.error();
      ASSERT_TRUE(equal(native, there)) << "history " << h << ", step " << i;
      ASSERT_LT(native.decision.state,
                native.params.ladder.table.count > 1 ? native.params.ladder.table.count : 2U);
      ++chosen[native.decision.state];
      state_there = there.state;
    }
  }
  for (u32 i = 0; i < 6; ++i) EXPECT_GT(chosen[i], 50) << "of state " << i << ": proves nothing";
}

INSTANTIATE_TEST_SUITE_P(every_governor, states_in_the_kernel,
                         testing::Values(core::any_state::kind::menu, core::any_state::kind::teo,
                                         core::any_state::kind::ladder));

}  // namespace
}  // namespace haltpoll::golden
