#include <gtest/gtest.h>

#include <haltpoll/core/fixed.hpp>

namespace haltpoll::core::fixed {
namespace {

TEST(select, polls_the_same_window_whatever_happened) {
  const params p{.window_ns = 30'000};
  state s;
  for (const u64 block : {u64{0}, u64{1'000'000}, never}) {
    const decision d = select(p, s, {});
    EXPECT_EQ(d.state, poll_state);
    EXPECT_FALSE(d.stop_tick);
    EXPECT_EQ(d.window_ns, 30'000U);
    reflect(p, s, {.timed_out = true, .polled_ns = 30'000, .block_ns = block});
  }
}

TEST(select, window_0_halts_at_once_and_lets_the_tick_stop) {
  state s;
  const decision d = select({.window_ns = 0}, s, {});
  EXPECT_EQ(d.state, halt_state);
  EXPECT_TRUE(d.stop_tick);
}

TEST(select, latency_limit_0_forbids_halting_with_window_0_too) {
  state s;
  const decision d = select({.window_ns = 0}, s, {.latency_limit_ns = 0});
  EXPECT_EQ(d.state, poll_state);
  EXPECT_FALSE(d.stop_tick);
}

}  // namespace
}  // namespace haltpoll::core::fixed
