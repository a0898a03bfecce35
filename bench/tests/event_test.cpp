#include "measure.hpp"

namespace haltpoll::bench::testing {
namespace {

TEST(event, every_arm_delivers) {
  NEEDS_TWO_CPUS();
  constexpr u64 ops = 300;
  for (const std::string arm : find("event").arms) {
    SCOPED_TRACE(arm);
    const sample s = measure("event", ops, arm);
    EXPECT_EQ(s.ops, ops);
    EXPECT_GT(s.p50_ns, 0U);
    EXPECT_LE(s.p50_ns, s.p99_ns);
    EXPECT_GT(s.wall_ns, ops * 2 * 5'000) << "each round trip holds the turn twice";
    EXPECT_GT(s.cpu_ns, 0U);
    ASSERT_EQ(s.parts.size(), 1U);
    EXPECT_EQ(s.parts[0].name, "without_hold");
    EXPECT_GT(s.parts[0].per_second, 0);
    EXPECT_EQ(s.polls > 0, arm == "wait");
    EXPECT_LE(s.hits, s.polls);
  }
}

TEST(event, the_limit_is_first_and_ours_last) {
  EXPECT_STREQ(find("event").arms.front(), "raw");
  EXPECT_STREQ(find("event").arms.back(), "wait");
}

TEST(event, refuses_what_it_cannot_measure) {
  const auto refused = [](const job& j) {
    const outcome o = measure("event", j);
    return std::holds_alternative<std::string>(o) ? std::get<std::string>(o) : "";
  };
  EXPECT_EQ(refused({.ops = 10, .variant = "telepathy"}), "unknown arm \"telepathy\"");
  EXPECT_EQ(refused({.ops = 0, .variant = "raw"}), "needs at least one operation");
  EXPECT_EQ(refused({.ops = 10, .variant = "raw", .cpu_a = 0, .cpu_b = 0}), "needs two CPUs");
  EXPECT_NE(refused({.ops = 10, .variant = "raw", .cpu_a = 0, .cpu_b = 1000}), "");
}

}  // namespace
}  // namespace haltpoll::bench::testing
