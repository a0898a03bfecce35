// Every workload, end to end through real workers, in both arms. Operations are counted, never
// timed.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <haltpoll/bench/runner.hpp>
#include <haltpoll/process/launch.hpp>

#include "workloads/all.hpp"
#include "workloads/redis.hpp"

namespace haltpoll::bench {
namespace {

constexpr u64 ops = 200;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

/// Whether the preload library defines the function, by what nm lists of it.
bool library_wraps(const std::string& function) {
  const std::string list = "nm -D --defined-only " + process::preload_library();
  FILE* nm = ::popen(list.c_str(), "r");
  if (nm == nullptr) return false;
  std::string text;
  for (int c; (c = std::fgetc(nm)) != EOF;) text += static_cast<char>(c);
  ::pclose(nm);
  return text.find(" T " + function + "\n") != std::string::npos;
}

class every_workload : public testing::TestWithParam<const char*> {
 protected:
  /// One sample of the given arm, or why it cannot be taken here.
  void measure(const std::string& backend) {
    options o;
    o.workloads = {GetParam()};
    o.backends = {"off", backend};
    auto made = make_plan(o);
    ASSERT_TRUE(std::holds_alternative<plan>(made)) << std::get<std::string>(made);
    const step& s = std::get<plan>(made).steps.at(0);
    if (!s.problem.empty()) GTEST_SKIP() << s.problem;
    job j = s.base;
    j.ops = ops;
    const arm& a = s.arms.at(1);
    const outcome got = a.measure(*s.load, j);
    ASSERT_TRUE(std::holds_alternative<sample>(got)) << std::get<std::string>(got);
    const sample& m = std::get<sample>(got);
    EXPECT_GE(m.ops, ops);  // messaging runs whole loops
    EXPECT_GT(m.wall_ns, 0u);
    EXPECT_GT(m.cpu_ns, 0u);
    EXPECT_GT(m.mean_ns, 0u);
    EXPECT_EQ(m.p50_ns == 0, std::string(GetParam()) == "messaging");
    EXPECT_LE(m.p50_ns, m.p99_ns);
    if (a.expected == proof::no_polls) {
      EXPECT_EQ(m.polls, 0u);
      EXPECT_GT(m.halts, 0u);  // nobody polled, so somebody slept
    } else {
      EXPECT_GT(m.polls, 0u);
      EXPECT_TRUE(m.preloaded);
    }
  }
};

TEST_P(every_workload, delivers_in_the_off_arm) { measure("off"); }

TEST_P(every_workload, delivers_in_the_process_arm) {
  if (sanitized) GTEST_SKIP() << "a sanitizer's runtime and a preloaded library exclude each other";
  if (process::preload_library().empty()) GTEST_SKIP() << "libhaltpoll_preload.so is not built";
  if (std::string(GetParam()) == "ctxsw" && !library_wraps("syscall"))
    GTEST_SKIP()
        << "the preload library does not wrap syscall(), through which a futex is waited for";
  measure("process");
}

INSTANTIATE_TEST_SUITE_P(all, every_workload,
                         testing::Values("pipe", "pipe-same-cpu", "ctxsw", "tcp", "udp", "unix",
                                         "epoll", "messaging", "redis"),
                         [](const auto& which) {
                           std::string name = which.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(table_of_workloads, is_complete) {
  std::vector<std::string> names;
  for (const workload& w : workloads()) {
    EXPECT_TRUE(std::string("cross-cpu same-cpu all-cpus").find(w.placement) != std::string::npos);
    EXPECT_NE(std::string(w.description), "");
    job nothing;  // refused by every load, as it asks for no operations, but not as unknown
    const outcome o = w.first_ops != 0 ? measure(w.name, nothing) : outcome("fixed size");
    ASSERT_TRUE(std::holds_alternative<std::string>(o)) << w.name;
    EXPECT_EQ(std::get<std::string>(o).find("unknown workload"), std::string::npos) << w.name;
    EXPECT_EQ(std::count(names.begin(), names.end(), w.name), 0) << w.name << " twice";
    names.emplace_back(w.name);
  }
}

TEST(redis, leaves_neither_file_nor_directory) {
  std::string directory =
      (std::filesystem::temp_directory_path() / "workloads_test_XXXXXX").string();
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  ::setenv("TMPDIR", directory.c_str(), 1);
  options o;
  o.workloads = {"redis"};
  o.backends = {"off", "off"};
  const auto made = make_plan(o);
  ASSERT_TRUE(std::holds_alternative<plan>(made));
  const step& s = std::get<plan>(made).steps.at(0);
  job j = s.base;
  j.ops = ops;
  const outcome got = s.problem.empty() ? s.arms.at(0).measure(*s.load, j) : s.problem;
  ::unsetenv("TMPDIR");
  EXPECT_TRUE(std::filesystem::is_empty(directory));
  std::filesystem::remove_all(directory);
  if (!s.problem.empty()) GTEST_SKIP() << s.problem;
  EXPECT_TRUE(std::holds_alternative<sample>(got)) << std::get<std::string>(got);
}

TEST(placement, a_pair_needs_two_cpus) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  const int first = allowed_cpus().front();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  options o;
  o.workloads = {"pipe", "pipe-same-cpu", "messaging"};
  o.backends = {"off", "off"};
  const auto made = make_plan(o);
  ::sched_setaffinity(0, sizeof before, &before);
  ASSERT_TRUE(std::holds_alternative<plan>(made));
  const auto& steps = std::get<plan>(made).steps;
  EXPECT_EQ(steps.at(0).problem,
            "needs two CPUs; this process may run on CPU " + std::to_string(first) + " only");
  EXPECT_EQ(steps.at(1).problem, "");
  EXPECT_EQ(steps.at(2).problem, "");
}

TEST(redis_csv, is_read_by_its_columns) {
  sample s;
  s.ops = 1000;
  EXPECT_TRUE(read_redis_csv(
      "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\"p95_latency_"
      "ms\","
      "\"p99_latency_ms\",\"max_latency_ms\"\n"
      "\"GET\",\"20000.00\",\"0.048\",\"0.040\",\"0.047\",\"0.055\",\"0.119\",\"0.207\"\n",
      s));
  EXPECT_EQ(s.wall_ns, 50'000'000u);
  EXPECT_EQ(s.mean_ns, 50'000u);
  EXPECT_EQ(s.p50_ns, 47'000u);
  EXPECT_EQ(s.p99_ns, 119'000u);
  EXPECT_FALSE(read_redis_csv("", s));
  EXPECT_FALSE(read_redis_csv("\"SET\",\"1\",\"1\",\"1\",\"1\",\"1\",\"1\",\"1\"\n", s));
  EXPECT_FALSE(read_redis_csv("\"GET\",\"20000.00\"\n", s));
}

}  // namespace
}  // namespace haltpoll::bench
