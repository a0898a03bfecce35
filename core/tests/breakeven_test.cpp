#include <gtest/gtest.h>

#include <algorithm>
#include <haltpoll/core/breakeven.hpp>

namespace haltpoll::core::breakeven {
namespace {

TEST(select, window_is_the_price_of_an_immediate_wake) {
  state s;
  const decision d = select({.wake_ns = 7'000, .latency_price = 4}, s, {});
  EXPECT_EQ(d.state, poll_state);
  EXPECT_FALSE(d.stop_tick);
  EXPECT_EQ(d.window_ns, 28'000U);
}

TEST(select, a_free_wake_or_a_price_of_0_halts_at_once) {
  state s;
  EXPECT_EQ(select({.wake_ns = 0}, s, {}).state, halt_state);
  EXPECT_EQ(select({.latency_price = 0}, s, {}).state, halt_state);
}

TEST(select, latency_limit_0_forbids_halting) {
  state s;
  EXPECT_EQ(select({.wake_ns = 0}, s, {.latency_limit_ns = 0}).state, poll_state);
}

/// The worst ratio to the clairvoyant's cost, in thousandths, on the penalty curve of the machine
/// this was written on: 7 us, and 65 us once the host has given up polling, after 130 us of halt.
u64 worst_on_a_jump(u64 price) {
  const params p{.wake_ns = 7'000, .latency_price = price};
  const auto penalty = [price](u64 halted_ns) {
    return price * (halted_ns < 130'000 ? u64{7'000} : u64{65'000});
  };
  u64 worst = 0;
  for (u64 idle_ns = 1'000; idle_ns < 2'000'000; idle_ns += 1'000) {
    state s;
    const u64 w = select(p, s, {}).window_ns;
    const u64 cost = idle_ns <= w ? idle_ns : w + penalty(idle_ns - w);
    worst = std::max(worst, 1'000 * cost / std::min(idle_ns, penalty(idle_ns)));
  }
  return worst;
}

// The figures of the header: the bound of 2 needs a penalty that grows no faster than time.
TEST(bound, survives_the_jump_of_the_penalty_at_low_prices) {
  EXPECT_EQ(worst_on_a_jump(1), 2'000U);
  EXPECT_EQ(worst_on_a_jump(4), 2'000U);
}

TEST(bound, a_jump_of_the_penalty_breaks_it_at_price_16) { EXPECT_EQ(worst_on_a_jump(16), 4'760U); }

}  // namespace
}  // namespace haltpoll::core::breakeven
