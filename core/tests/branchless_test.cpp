#include <gtest/gtest.h>

#include <haltpoll/core/branchless.hpp>

namespace haltpoll::core {
namespace {

TEST(less, is_1_or_0) {
  constexpr u64 top = (1ULL << 63) - 1;
  EXPECT_EQ(less(0, 1), 1U);
  EXPECT_EQ(less(1, 1), 0U);
  EXPECT_EQ(less(1, 0), 0U);
  EXPECT_EQ(less(0, top), 1U);
  EXPECT_EQ(less(top, 0), 0U);
  EXPECT_EQ(less(top, top), 0U);
}

TEST(less, takes_a_negative_left_side) {
  EXPECT_EQ(less(static_cast<u64>(-1), 0), 1U);
  EXPECT_EQ(less(static_cast<u64>(-1), (1ULL << 63) - 1), 1U);
}

TEST(bit, reads_one) {
  EXPECT_EQ(bit(0b100, 2), 1U);
  EXPECT_EQ(bit(0b100, 1), 0U);
  EXPECT_EQ(bit(never, 63), 1U);
}

TEST(choose, takes_the_first_on_1) {
  EXPECT_EQ(choose(1, 3, never), 3U);
  EXPECT_EQ(choose(0, 3, never), never);
}

static_assert(less(1, 2) == 1 && bit(1, 0) == 1 && choose(1, 2, 3) == 2);  // usable when compiling

}  // namespace
}  // namespace haltpoll::core
