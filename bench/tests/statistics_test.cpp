#include "statistics.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace haltpoll::bench {
namespace {

std::vector<u64> one_to(u64 n) {
  std::vector<u64> v(n);
  std::iota(v.begin(), v.end(), 1);
  std::shuffle(v.begin(), v.end(), std::mt19937(7));
  return v;
}

TEST(percentile, is_a_value_that_occurred_at_the_nearest_rank) {
  auto v = one_to(100);
  EXPECT_EQ(percentile(v, 500), 50u);
  EXPECT_EQ(percentile(v, 990), 99u);
  EXPECT_EQ(percentile(v, 1000), 100u);
  EXPECT_EQ(percentile(v, 0), 1u);
  auto thousand = one_to(1000);
  EXPECT_EQ(percentile(thousand, 990), 990u);
  EXPECT_EQ(percentile(thousand, 999), 999u);
}

TEST(percentile, of_few_values) {
  std::vector<u64> one{42};
  EXPECT_EQ(percentile(one, 500), 42u);
  EXPECT_EQ(percentile(one, 990), 42u);
  std::vector<u64> three{30, 10, 20};
  EXPECT_EQ(percentile(three, 500), 20u);
  EXPECT_EQ(percentile(three, 990), 30u);
}

TEST(median, of_odd_even_and_no_values) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_DOUBLE_EQ(median({}), 0);
  EXPECT_DOUBLE_EQ(median({1, 1, 1, 1, 1000}), 1);  // one outlier moves nothing
}

}  // namespace
}  // namespace haltpoll::bench
