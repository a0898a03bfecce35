// What a decision costs is tested by counting instructions, which no neighbour disturbs; the
// nanoseconds are for `haltpoll bench decide`.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "measure.hpp"

namespace haltpoll::bench::testing {
namespace {

constexpr u64 batch = 4096;  // of the workload: operations are whole batches

TEST(decide, every_governor_delivers) {
  ASSERT_GE(find("decide").arms.size(), 4U);
  for (const std::string governor : find("decide").arms) {
    SCOPED_TRACE(governor);
    job j;
    j.ops = 10 * batch - 1;
    j.variant = governor;
    j.cpu_a = allowed_cpus().front();
    const outcome o = measure("decide", j);
    ASSERT_TRUE(std::holds_alternative<sample>(o)) << std::get<std::string>(o);
    const sample s = std::get<sample>(o);
    EXPECT_EQ(s.ops, 10 * batch);
    EXPECT_GT(s.wall_ns, 0U);
    EXPECT_LE(s.p50_ns, s.p99_ns);
    ASSERT_EQ(s.parts.size(), 1U);
    EXPECT_GT(s.parts[0].per_second, 0);
    EXPECT_EQ(s.polls, 0U);
  }
}

TEST(decide, refuses_what_it_cannot_measure) {
  const auto refused = [](const job& j) { return std::get<std::string>(measure("decide", j)); };
  EXPECT_EQ(refused({.ops = 1, .variant = "oracle"}), "unknown governor \"oracle\"");
  EXPECT_EQ(refused({.ops = 0, .variant = "fixed"}), "needs at least one operation");
}

/// Instructions that the worker executes for so many decisions; 0: valgrind did not say.
u64 instructions(const std::string& governor, u64 decisions) {
  const std::string command =
      "exec valgrind --tool=callgrind --callgrind-out-file=/dev/null " HALTPOLL_WORKER
      " decide --ops " +
      std::to_string(decisions) + " --variant " + governor + " --cpu-a " +
      std::to_string(allowed_cpus().front()) + " --cpu-b " +
      std::to_string(allowed_cpus().front()) + " 2>&1 >/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> out(popen(command.c_str(), "r"), pclose);
  u64 count = 0;
  char line[256];
  while (out != nullptr && std::fgets(line, sizeof line, out.get()) != nullptr)
    if (const char* at = std::strstr(line, "Collected : "))
      count = std::strtoull(at + 12, nullptr, 10);
  return count;
}

TEST(decide, instructions_per_decision) {
  if (std::system("command -v valgrind >/dev/null") != 0) GTEST_SKIP() << "valgrind is missing";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "valgrind does not run sanitized programs";
#endif
  // 20 to 60 in the release build, with about 15 of the workload's own; unoptimised three times
  // that. A division or a loop over a table would break the bound, and could not cost 10 ns.
#ifdef NDEBUG
  constexpr u64 most = 100;
#else
  constexpr u64 most = 300;
#endif
  for (const std::string governor : find("decide").arms) {
    const u64 few = instructions(governor, batch), many = instructions(governor, 11 * batch);
    ASSERT_GT(few, 0U);
    const u64 each = (many - few) / (10 * batch);
    std::printf("%s: %llu instructions per decision\n", governor.c_str(), each);
    RecordProperty(governor, std::to_string(each));
    EXPECT_GT(each, 0U);
    EXPECT_LE(each, most) << governor;
  }
}

}  // namespace
}  // namespace haltpoll::bench::testing
