#include <gtest/gtest.h>

#include <haltpoll/core/state_table.hpp>

#include "machines.hpp"

namespace haltpoll::core {
namespace {

TEST(enabled, are_the_states_of_the_table_that_are_not_disabled) {
  EXPECT_EQ(enabled(server, {}), 0b1111U);
  EXPECT_EQ(enabled(server, {.disabled = 0b0101}), 0b1010U);
  EXPECT_EQ(enabled(server, {.disabled = never}), 0U);
  EXPECT_EQ(enabled(ten, {}), 0b11'1111'1111U);
}

TEST(paying_within, has_its_bound_inside) {
  EXPECT_EQ(paying_within(telephone, 999) & 0b111, 0U);
  EXPECT_EQ(paying_within(telephone, 1'000) & 0b111, 0b001U);
  EXPECT_EQ(paying_within(telephone, 2'000'000) & 0b111, 0b011U);
  EXPECT_EQ(paying_within(telephone, no_timer) & 0b111, 0b111U);
}

TEST(paying_within, nothing_pays_before_a_timer_in_the_past) {
  EXPECT_EQ(paying_within(server, 0) & 0b1111, 0b0001U);
  EXPECT_EQ(paying_within(server, -1), 0U);
  EXPECT_EQ(paying_within(server, -no_timer - 1), 0U);
}

TEST(fast_enough, has_its_bound_inside) {
  EXPECT_EQ(fast_enough(server, 0) & 0b1111, 0b0001U);
  EXPECT_EQ(fast_enough(server, 9'999) & 0b1111, 0b0011U);
  EXPECT_EQ(fast_enough(server, 10'000) & 0b1111, 0b0111U);
  EXPECT_EQ(fast_enough(server, never) & 0b1111, 0b1111U);
}

TEST(deepest_and_shallowest, of_every_set) {
  for (state_set set = 1; set < 1U << max_states; ++set) {
    EXPECT_EQ(deepest(set, 77), 31U - static_cast<u32>(__builtin_clz(set)));
    EXPECT_EQ(shallowest(set, 77), static_cast<u32>(__builtin_ctz(set)));
  }
  EXPECT_EQ(deepest(0, 77), 77U);
  EXPECT_EQ(shallowest(0, 77), 77U);
}

TEST(shallower, takes_the_deepest_that_pays) {
  EXPECT_EQ(shallower(server, {}, 3, 20'000), 2U);
  EXPECT_EQ(shallower(server, {}, 3, 19'999), 1U);
  EXPECT_EQ(shallower(server, {.disabled = 0b0010}, 3, 19'999), 0U);
}

TEST(shallower, takes_the_shallowest_enabled_where_none_pays) {
  EXPECT_EQ(shallower(telephone, {}, 2, 0), 0U);
  EXPECT_EQ(shallower(telephone, {.disabled = 0b001}, 2, 0), 1U);
}

TEST(shallower, stays_where_nothing_above_is_enabled) {
  EXPECT_EQ(shallower(telephone, {.disabled = 0b011}, 2, 0), 2U);
  EXPECT_EQ(shallower(telephone, {}, 0, 0), 0U);
}

}  // namespace
}  // namespace haltpoll::core
