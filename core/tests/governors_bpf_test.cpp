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

}  // namespace
}  // namespace haltpoll::golden
