#include "measure.hpp"

namespace haltpoll::bench::testing {
namespace {

TEST(wake, every_arm_delivers_a_curve) {
  NEEDS_TWO_CPUS();
  constexpr u64 wakes_per_row = 8;
  for (const std::string arm : find("wake").arms) {
    SCOPED_TRACE(arm);
    const sample s = measure("wake", wakes_per_row, arm);
    ASSERT_GE(s.curve.size(), 10U);
    EXPECT_EQ(s.curve.front().idle_ns, 2'000U);
    EXPECT_EQ(s.curve.back().idle_ns, 10'000'000U);
    EXPECT_EQ(s.ops, wakes_per_row * s.curve.size());
    u64 idle_before = 0, idle_total = 0;
    for (const curve_row& row : s.curve) {
      EXPECT_GT(row.idle_ns, idle_before);
      EXPECT_GT(row.wake_p50_ns, 0U);
      EXPECT_LE(row.wake_p50_ns, row.wake_p90_ns);
      EXPECT_LE(row.wake_p90_ns, row.wake_p99_ns);
      idle_before = row.idle_ns;
      idle_total += row.idle_ns * wakes_per_row;
    }
    EXPECT_GE(s.wall_ns, idle_total);
    EXPECT_GT(s.p50_ns, 0U);
    EXPECT_LE(s.p50_ns, s.p99_ns);
    EXPECT_EQ(s.polls > 0, arm == "wait");
    EXPECT_LE(s.hits, s.polls);
  }
}

TEST(wake, the_sleeper_sleeps_in_off) {
  NEEDS_TWO_CPUS();
  // Half of the wakes at least; at 2 us the event may come before the sleeper is asleep.
  const sample s = measure("wake", 8, "off");
  EXPECT_GE(s.halts, s.ops / 2);
}

TEST(wake, refuses_what_it_cannot_measure) {
  const auto refused = [](const job& j) { return std::get<std::string>(measure("wake", j)); };
  EXPECT_EQ(refused({.ops = 1, .variant = "on"}), "unknown arm \"on\"");
  EXPECT_EQ(refused({.ops = 1, .variant = "off", .cpu_a = 0, .cpu_b = 0}), "needs two CPUs");
}

}  // namespace
}  // namespace haltpoll::bench::testing
