#include "measure.hpp"

namespace haltpoll::bench::testing {
namespace {

TEST(idle, every_waiter_is_counted) {
  const sample s = measure("idle", 1);
  EXPECT_EQ(s.ops, 1U);
  EXPECT_GE(s.wall_ns, 1'000'000'000U);
  ASSERT_EQ(s.parts.size(), 4U);
  double sum = 0;
  for (const part& p : s.parts) {
    EXPECT_EQ(p.per_second > 0, p.name.ends_with("_ticking")) << p.name << " " << p.per_second;
    sum += p.per_second;
  }
  EXPECT_NEAR(sum, static_cast<double>(s.cpu_ns) * 1e9 / static_cast<double>(s.wall_ns), 10);
  EXPECT_EQ(s.p50_ns, s.cpu_ns);
  // Two waiters tick every 10 ms; a wait that polled on would not halt, one that spun would halt
  // too often. Half and double, for a busy machine ticks late.
  EXPECT_GE(s.halts, 100U);
  EXPECT_LE(s.halts, 400U);
}

}  // namespace
}  // namespace haltpoll::bench::testing
