#include <gtest/gtest.h>

#include <haltpoll/core/ladder.hpp>
#include <initializer_list>

#include "machines.hpp"

namespace haltpoll::core::ladder {
namespace {

/// Selects and reports a stay of each length in the state that was selected; what was selected
/// last.
u32 after(const params& p, state& s, std::initializer_list<u64> stays, const request& r = {}) {
  u32 selected = 0;
  for (const u64 ns : stays) {
    selected = select(p, s, r).state;
    reflect(p, s, {.state = selected, .block_ns = ns});
  }
  return selected;
}

state at_state(u32 i) {
  state s;
  s.current = i;
  s.enabled = 1;
  return s;
}

TEST(select, starts_at_the_first_state_that_does_not_poll) {
  state s;
  EXPECT_EQ(after({server}, s, {5'000}), 1U);
  state other;
  EXPECT_EQ(after({telephone}, other, {5'000}), 0U);
}

TEST(select, never_says_to_keep_the_tick) {
  state s;
  EXPECT_TRUE(select({server}, s, {}).stop_tick);
  EXPECT_TRUE(select({server}, s, {.latency_limit_ns = 0}).stop_tick);
}

TEST(select, promotes_at_the_fourth_long_stay_in_a_row) {
  state s = at_state(1);
  s.residency_ns = 4'001;
  EXPECT_EQ(after({server}, s, {4'001, 4'001, 4'001}), 1U);
  EXPECT_EQ(after({server}, s, {20'000}), 2U);
}

TEST(select, long_is_longer_than_twice_the_exit_latency) {
  state s = at_state(1);
  s.residency_ns = 4'000;
  EXPECT_EQ(after({server}, s, {4'000, 4'000, 4'000, 4'000, 4'000}), 1U);
}

TEST(select, a_promotion_forgets_the_count) {
  state s = at_state(1);
  s.residency_ns = 5'000;
  EXPECT_EQ(after({server}, s, {5'000, 5'000, 5'000, 15'000}), 2U);
  EXPECT_EQ(s.of[1].promotion, 0U);
}

TEST(select, demotes_at_the_first_short_stay) {
  state s = at_state(2);
  s.residency_ns = 19'999;
  EXPECT_EQ(select({server}, s, {}).state, 1U);
  s = at_state(2);
  s.residency_ns = 20'000;
  EXPECT_EQ(select({server}, s, {}).state, 2U);
}

TEST(select, a_short_stay_ends_the_row) {
  state s = at_state(1);
  s.residency_ns = 5'000;
  EXPECT_EQ(after({server}, s, {5'000, 5'000, 3'000}), 1U);  // the third of the long ones
  EXPECT_EQ(after({server}, s, {5'000}), 1U) << "3 us: short, but nothing to go back to";
  EXPECT_EQ(s.of[1].promotion, 3U) << "at the first state a short stay is not even counted";
  EXPECT_EQ(after({server}, s, {5'000}), 2U);
}

TEST(select, a_stay_shorter_than_the_exit_latency_counts_as_an_endless_one) {
  state s = at_state(2);
  s.residency_ns = 9'999;
  EXPECT_EQ(after({server}, s, {0, 9'999, 9'999}), 2U);
  EXPECT_EQ(after({server}, s, {1}), 3U);
}

TEST(select, entering_refused_is_a_stay_of_0) {
  state s = at_state(2);
  s.residency_ns = 15'000;  // would demote
  select({server}, s, {});
  EXPECT_EQ(s.current, 1U);
  s.current = 2;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(select({server}, s, {}).state, 2U);
  EXPECT_EQ(select({server}, s, {}).state, 3U) << "four refusals in a row promote";
}

TEST(select, promotes_to_no_state_that_is_disabled_or_too_slow) {
  state s = at_state(1);
  s.residency_ns = 5'000;
  const request disabled{.disabled = 0b0100};
  EXPECT_EQ(after({server}, s, {5'000, 5'000, 5'000, 5'000, 5'000}, disabled), 1U);
  const request strict{.latency_limit_ns = 9'999};
  EXPECT_EQ(after({server}, s, {5'000, 5'000, 5'000, 5'000, 5'000}, strict), 1U);
  const request exactly{.latency_limit_ns = 10'000};
  EXPECT_EQ(after({server}, s, {5'000, 5'000, 5'000, 5'000, 5'000}, exactly), 2U);
}

TEST(select, leaves_a_state_that_became_disabled_for_a_fast_one_enabled_or_not) {
  state s = at_state(3);
  s.residency_ns = 1'000'000;
  EXPECT_EQ(select({server}, s, {.disabled = 0b1100}).state, 2U) << "only latencies are looked at";
}

TEST(select, leaves_a_state_too_slow_for_the_first_that_is_fast_enough) {
  state s = at_state(3);
  s.residency_ns = 1'000'000;
  EXPECT_EQ(select({server}, s, {.latency_limit_ns = 9'999}).state, 1U);
  s = at_state(3);
  EXPECT_EQ(select({server}, s, {.latency_limit_ns = 1}).state, 1U) << "the first, if none is";
}

TEST(select, latency_limit_0_goes_to_state_0_and_the_next_select_leaves_it) {
  state s = at_state(2);
  EXPECT_EQ(select({server}, s, {.latency_limit_ns = 0}).state, 0U);
  reflect({server}, s, {.state = 0, .polled_ns = 1});
  EXPECT_EQ(select({server}, s, {}).state, 1U) << "state 0 has no thresholds";
}

TEST(select, stays_in_the_polling_state_after_a_stay_of_0_or_with_state_1_forbidden) {
  state s = at_state(0);
  EXPECT_EQ(select({server}, s, {}).state, 0U);
  s.residency_ns = 1'000;
  EXPECT_EQ(select({server}, s, {.disabled = 0b0010}).state, 0U);
  s.residency_ns = 1'000;
  EXPECT_EQ(select({server}, s, {.latency_limit_ns = 1'999}).state, 0U);
}

TEST(reflect, state_0_does_not_move_the_ladder) {
  state s = at_state(2);
  reflect({server}, s, {.state = 0, .polled_ns = 500'000});
  EXPECT_EQ(s.current, 2U);
  reflect({server}, s, {.state = 1, .block_ns = 500'000});
  EXPECT_EQ(s.current, 1U) << "the driver took another state";
}

TEST(select, goes_no_deeper_than_the_last_state) {
  state s = at_state(max_states - 1);
  s.residency_ns = never / 4;
  EXPECT_EQ(after({ten}, s, {never / 4, never / 4, never / 4, never / 4, never / 4}),
            max_states - 1);
}

}  // namespace
}  // namespace haltpoll::core::ladder
