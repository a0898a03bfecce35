#include <gtest/gtest.h>

#include <haltpoll/core/haltpoll.hpp>
#include <initializer_list>

namespace haltpoll::core::haltpoll {
namespace {

constexpr u32 u32_max = 0xffff'ffffU;

/// What a period caller tells after a miss.
outcome missed(u64 polled_ns, u64 block_ns) {
  return {.state = halt_state, .timed_out = true, .polled_ns = polled_ns, .block_ns = block_ns};
}
outcome halted(u64 block_ns) { return {.state = halt_state, .block_ns = block_ns}; }
outcome polled(bool timed_out, u64 polled_ns) {
  return {.state = poll_state, .timed_out = timed_out, .polled_ns = polled_ns};
}

u64 window_after(const params& p, u64 window_ns, std::initializer_list<u64> blocks) {
  state s{.window_ns = window_ns};
  for (const u64 block : blocks) reflect(p, s, halted(block));
  return s.window_ns;
}

TEST(select, halts_with_window_0_and_lets_the_tick_stop) {
  state s;
  const decision d = select({}, s, {});
  EXPECT_EQ(d.state, halt_state);
  EXPECT_TRUE(d.stop_tick);
  EXPECT_EQ(d.window_ns, 0U);
}

TEST(select, window_0_halts_even_after_a_halt) {
  state s{.window_ns = 0, .last_state = halt_state};
  EXPECT_EQ(select({}, s, {}).state, halt_state);
}

TEST(select, polls_after_a_halt_although_the_last_poll_ran_out) {
  state s{.window_ns = 50'000, .last_state = halt_state, .poll_timed_out = 1};
  const decision d = select({}, s, {});
  EXPECT_EQ(d.state, poll_state);
  EXPECT_FALSE(d.stop_tick);
  EXPECT_EQ(d.window_ns, 50'000U);
}

TEST(select, halts_only_straight_after_a_poll_that_ran_out) {
  state s{.window_ns = 50'000};
  reflect({}, s, polled(true, 50'200));
  EXPECT_EQ(select({}, s, {}).state, halt_state);
  reflect({}, s, polled(false, 10'000));
  EXPECT_EQ(select({}, s, {}).state, poll_state) << "a hit: polls again";
}

TEST(select, poll_timed_out_is_stale_after_halts_and_cleared_by_the_next_poll) {
  state s{.window_ns = 50'000};
  reflect({}, s, polled(true, 50'200));
  reflect({}, s, halted(10'000));
  EXPECT_EQ(s.poll_timed_out, 1U);
  reflect({}, s, polled(false, 0));
  EXPECT_EQ(s.poll_timed_out, 0U);
}

TEST(select, latency_limit_0_forces_the_poll_state_and_keeps_the_tick) {
  state s{.window_ns = 0, .last_state = poll_state, .poll_timed_out = 1};
  const decision d = select({}, s, {.latency_limit_ns = 0});
  EXPECT_EQ(d.state, poll_state);
  EXPECT_FALSE(d.stop_tick);
  EXPECT_EQ(d.window_ns, 0U) << "the poll state's own limit is not the governor's business";
}

TEST(poll_limit, window_0_takes_the_default_and_stores_it_above_the_maximum) {
  state s;
  EXPECT_EQ(poll_limit(s, 250'000), 250'000U);
  EXPECT_EQ(s.window_ns, 250'000U);
  reflect({}, s, halted(100'000));
  EXPECT_EQ(s.window_ns, 250'000U) << "stays until a shrink";
  reflect({}, s, halted(300'000));
  EXPECT_EQ(s.window_ns, 125'000U);
}

TEST(poll_limit, leaves_a_learnt_window_alone) {
  state s{.window_ns = 50'000};
  EXPECT_EQ(poll_limit(s, 250'000), 50'000U);
}

TEST(reflect, block_excludes_the_poll_so_wakes_every_150_us_settle_at_100_us) {
  state s;
  int hits = 0;
  for (int i = 0; i < 100; ++i) {
    const decision d = select({}, s, {});
    if (d.state == poll_state && d.window_ns >= 150'000) {
      ++hits;
      reflect({}, s, polled(false, 150'000));
    } else {
      reflect({}, s, missed(d.window_ns, 150'000 - d.window_ns));
    }
  }
  EXPECT_EQ(s.window_ns, 100'000U);
  EXPECT_EQ(hits, 0);
}

TEST(reflect, bounds_of_growth_are_window_exclusive_and_maximum_inclusive) {
  EXPECT_EQ(window_after({}, 50'000, {50'000}), 50'000U);
  EXPECT_EQ(window_after({}, 50'000, {50'001}), 100'000U);
  EXPECT_EQ(window_after({}, 50'000, {200'000}), 100'000U);
  EXPECT_EQ(window_after({}, 100'000, {200'001}), 50'000U);
}

TEST(reflect, a_block_below_the_window_never_shrinks) {
  EXPECT_EQ(window_after({}, 200'000, {0, 1, 199'999, 200'000}), 200'000U);
}

TEST(reflect, growth_multiplies_then_raises_to_the_floor_then_caps) {
  EXPECT_EQ(window_after({}, 0, {1}), 50'000U);
  EXPECT_EQ(window_after({.guest_halt_poll_grow = 0}, 60'000, {70'000}), 50'000U);
  EXPECT_EQ(window_after({.guest_halt_poll_grow_start = 300'000}, 0, {1}), 200'000U);
  EXPECT_EQ(window_after({.guest_halt_poll_grow = 7}, 50'000, {60'000}), 200'000U);
}

TEST(reflect, growth_is_32_bits_wide) {
  const params p{.guest_halt_poll_ns = u32_max,
                 .guest_halt_poll_grow = 2'147'483'648U,
                 .guest_halt_poll_grow_start = 50'000};
  EXPECT_EQ(window_after(p, 50'000, {60'000}), 50'000U) << "50000 * 2^31 is 0 modulo 2^32";
}

TEST(reflect, grow_start_0_never_leaves_window_0) {
  EXPECT_EQ(window_after({.guest_halt_poll_grow_start = 0}, 0, {1, 1000, 200'000}), 0U);
}

TEST(reflect, shrinking_zeroes_below_grow_start_in_6_12_and_divides_on_in_6_1) {
  EXPECT_EQ(window_after({}, 99'999, {never}), 0U);
  EXPECT_EQ(window_after({}, 100'000, {never}), 50'000U);
  EXPECT_EQ(window_after({.zero_below_grow_start = 0}, 99'999, {never}), 49'999U);
  EXPECT_EQ(window_after({.zero_below_grow_start = 0}, 1, {never}), 0U);
}

TEST(reflect, shrink_1_only_zeroes_windows_below_the_floor_in_6_12_and_does_nothing_in_6_1) {
  const params p{.guest_halt_poll_shrink = 1};
  EXPECT_EQ(window_after(p, 49'999, {never}), 0U);
  EXPECT_EQ(window_after(p, 50'000, {never}), 50'000U);
  EXPECT_EQ(window_after({.guest_halt_poll_shrink = 1, .zero_below_grow_start = 0}, 7, {never}),
            7U);
}

TEST(reflect, shrink_0_drops_to_0_and_allow_shrink_0_never_shrinks) {
  EXPECT_EQ(window_after({.guest_halt_poll_shrink = 0}, 200'000, {200'001}), 0U);
  EXPECT_EQ(window_after({.guest_halt_poll_allow_shrink = 0}, 200'000, {never}), 200'000U);
}

TEST(reflect, a_window_above_a_lowered_maximum_is_not_cut) {
  const params lowered{.guest_halt_poll_ns = 50'000};
  EXPECT_EQ(window_after(lowered, 200'000, {10'000, 50'000}), 200'000U);
  EXPECT_EQ(window_after(lowered, 200'000, {60'000}), 100'000U)
      << "above the maximum shrinks, whatever the window";
}

TEST(reflect, a_maximum_of_0_never_grows) {
  EXPECT_EQ(window_after({.guest_halt_poll_ns = 0}, 0, {0, 1, never}), 0U);
}

TEST(adjust, tells_the_trace_point_also_when_the_value_stays) {
  state s;
  EXPECT_EQ(adjust({}, s, 200'001), -1);
  EXPECT_EQ(s.window_ns, 0U);
  EXPECT_EQ(adjust({}, s, 1), 1);
  EXPECT_EQ(adjust({}, s, 50'000), 0);
}

static_assert([] {
  state s;
  reflect({}, s, {.state = halt_state, .block_ns = 1});
  return s.window_ns;
}() == 50'000);  // usable when compiling

}  // namespace
}  // namespace haltpoll::core::haltpoll
