// Timeouts survive the way to nanoseconds and back: never shorter, and what the kernel refuses
// still reaches it.
#include "../src/preload/timeouts.hpp"

#include <gtest/gtest.h>
#include <limits.h>

namespace haltpoll::preload {
namespace {

TEST(timeouts, milliseconds) {
  EXPECT_EQ(from_ms(-1), core::never);
  EXPECT_EQ(from_ms(0), 0u);
  for (const int ms : {0, 1, 7, 60'000, INT_MAX}) EXPECT_EQ(to_ms(from_ms(ms)), ms);
  EXPECT_EQ(to_ms(core::never), -1);
  EXPECT_EQ(to_ms(1), 1);
  EXPECT_EQ(to_ms(1'000'001), 2);
}

TEST(timeouts, timespec) {
  for (const timespec t :
       {timespec{0, 0}, timespec{0, 1}, timespec{5, 999'999'999}, timespec{9'000'000'000, 5}}) {
    const timespec back = to_timespec(from_timespec(t));
    EXPECT_EQ(back.tv_sec, t.tv_sec);
    EXPECT_EQ(back.tv_nsec, t.tv_nsec);
  }
  // Refused by the kernel: no poll, the real call says EINVAL.
  for (const timespec t : {timespec{-1, 0}, timespec{0, -1}, timespec{0, 1'000'000'000}})
    EXPECT_EQ(from_timespec(t), 0u);
  EXPECT_EQ(from_timespec({LONG_MAX, 0}), core::never);
}

TEST(timeouts, timeval) {
  EXPECT_EQ(from_timeval({0, 2'500'000}), 2'500'000'000u);
  EXPECT_EQ(from_timeval({-1, 0}), 0u);
  EXPECT_EQ(from_timeval({0, -1}), 0u);
  EXPECT_EQ(from_timeval({LONG_MAX, LONG_MAX}), core::never);
  EXPECT_EQ(to_timeval(1).tv_usec, 1);
  EXPECT_EQ(to_timeval(2'500'000'000).tv_sec, 2);
}

}  // namespace
}  // namespace haltpoll::preload
