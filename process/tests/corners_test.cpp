// Corner cases of the wrapped calls, each compared with the run without the library.
#include <gtest/gtest.h>

#include "spawn.hpp"

namespace haltpoll::process::test {
namespace {

class corners : public testing::TestWithParam<std::string> {};

TEST_P(corners, same_output_with_and_without) {
  if (GetParam() == "processes" && std::string(TEST_EMULATOR) != "")
    GTEST_SKIP() << "the emulated program would start programs of the host";
  const finished off = run({CLIENT_CORNERS, GetParam()}, nullptr);
  ASSERT_EQ(off.status, 0) << off.out << off.err;
  const finished on = run({CLIENT_CORNERS, GetParam()}, longest_window);
  EXPECT_EQ(on.status, 0) << on.err;
  EXPECT_EQ(on.out, off.out);
  EXPECT_EQ(on.err, off.err);
  EXPECT_GT(on.stats.polls, 0u) << "the library did not poll: nothing was compared";
}

std::string test_name(const testing::TestParamInfo<std::string>& t) { return identifier(t.param); }

INSTANTIATE_TEST_SUITE_P(every_case, corners,
                         testing::Values("nonblocking", "replaced", "waitall", "low-water",
                                         "receive-timeout", "select-update", "call-masks",
                                         "bad-arguments", "processes", "in-handler", "other-kinds",
                                         "allocates"),
                         test_name);

TEST(corners, no_call_allocates) {
  const finished on = run({CLIENT_CORNERS, "allocates"}, longest_window);
  EXPECT_EQ(on.status, 0) << on.err;
  EXPECT_NE(on.out.find("observed calls, allocations 0\n"), std::string::npos) << on.out;
}

}  // namespace
}  // namespace haltpoll::process::test
