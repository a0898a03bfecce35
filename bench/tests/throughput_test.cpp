#include <fcntl.h>
#include <sys/wait.h>

#include <cerrno>
#include <cmath>

#include "measure.hpp"

namespace haltpoll::bench::testing {
namespace {

TEST(throughput, every_part_delivers_and_the_index_is_ops_per_second) {
  NEEDS_TWO_CPUS();
  const sample s = measure("throughput", 5);  // ms per part
  const std::vector<std::string> names = {"integer",        "floating",        "system_calls",
                                          "create_process", "execute_program", "pipe_alone",
                                          "pipe_stream"};
  ASSERT_EQ(s.parts.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(s.parts[i].name, names[i]);
    EXPECT_GT(s.parts[i].per_second, 0) << names[i];
    EXPECT_TRUE(std::isfinite(s.parts[i].per_second)) << names[i];
  }
  EXPECT_GE(s.wall_ns, names.size() * 5'000'000);
  EXPECT_GT(s.ops, 0U);
  EXPECT_GT(s.cpu_ns, 0U);
  // The same index, as time per operation.
  EXPECT_NEAR(static_cast<double>(s.p50_ns) * static_cast<double>(s.ops),
              static_cast<double>(s.wall_ns), 0.6 * static_cast<double>(s.p50_ns + s.ops));
  EXPECT_EQ(s.polls, 0U);
  EXPECT_TRUE(find("throughput").higher_is_better);
}

TEST(throughput, leaves_nothing_behind) {
  NEEDS_TWO_CPUS();
  const auto open_files = [] {
    int n = 0;
    for (int fd = 0; fd < 256; ++fd) n += fcntl(fd, F_GETFD) >= 0;
    return n;
  };
  const int before = open_files();
  measure("throughput", 5);
  EXPECT_EQ(open_files(), before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace haltpoll::bench::testing
