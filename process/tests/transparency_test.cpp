// Every wrapped call gives what it gives without the library: data, timeouts, signals,
// cancellation; each while it would poll and while it would block. The two runs of a real program
// are compared line by line.
#include <gtest/gtest.h>

#include "spawn.hpp"

namespace haltpoll::process::test {
namespace {

const std::vector<std::string> all_calls = {
    "read",    "readv",   "recv",       "recv-waitall", "recvfrom",
    "recvmsg", "accept",  "accept4",    "poll",         "ppoll",
    "select",  "pselect", "epoll_wait", "epoll_pwait",  "epoll_pwait2"};
const std::vector<std::string> with_timeout = {
    "poll", "ppoll", "select", "pselect", "epoll_wait", "epoll_pwait", "epoll_pwait2"};

class transparency : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(transparency, same_output_with_and_without) {
  const auto& [name, call] = GetParam();
  // A handler may run between a poll's last look for signals and the real call: within 1 us here,
  // within a thread switch of the emulator there (seen once in 60 cases).
  if (*TEST_EMULATOR != '\0' && name.rfind("eintr", 0) == 0)
    GTEST_SKIP() << "user-mode emulation delivers signals too late to compare";
  const finished off = run({CLIENT, name, call}, nullptr);
  if (WIFEXITED(off.status) && WEXITSTATUS(off.status) == 69)
    GTEST_SKIP() << "no " << call << " here";
  ASSERT_EQ(off.status, 0) << off.err;
  const finished on = run({CLIENT, name, call}, longest_window);
  EXPECT_EQ(on.status, 0) << on.err;
  EXPECT_EQ(on.out, off.out);
  EXPECT_EQ(on.err, off.err);
  EXPECT_GT(on.stats.polls, 0u) << "the library did not poll: nothing was compared";
}

std::string test_name(const testing::TestParamInfo<transparency::ParamType>& info) {
  return identifier(std::get<0>(info.param) + "_" + std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(every_call, transparency,
                         testing::Combine(testing::Values("data", "eintr", "cancel"),
                                          testing::ValuesIn(all_calls)),
                         test_name);
INSTANTIATE_TEST_SUITE_P(with_timeout, transparency,
                         testing::Combine(testing::Values("timeouts"),
                                          testing::ValuesIn(with_timeout)),
                         test_name);
INSTANTIATE_TEST_SUITE_P(older_functions, transparency,
                         testing::Combine(testing::Values("eintr-by-signal"),
                                          testing::Values("read", "poll")),
                         test_name);

}  // namespace
}  // namespace haltpoll::process::test
