// The kernel arm with a backend that only counts: when it is switched on, and what must be proven.
#include <gtest/gtest.h>

#include <haltpoll/bench/runner.hpp>

namespace haltpoll::bench {
namespace {

struct fake_switch : kernel_switch {
  bool works = true;  ///< what polls is counted
  bool on = false;
  u32 switched_on = 0;
  mutable kernel::totals t;

  void poll(bool wanted) override {
    if (wanted && !on) {
      ++switched_on;
      if (works) t.polls += 100, t.hits += 90, t.wakes_without_interrupt += 80;
    }
    on = wanted;
  }
  kernel::totals counted() const override { return t; }
  core::any::params governor() const override { return {}; }
};

struct bench_run {
  std::shared_ptr<fake_switch> fake = std::make_shared<fake_switch>();
  options o;

  bench_run() {
    o.workloads = {"pipe"};
    o.backends = {"off", "kernel"};
    o.rounds = 2;
    o.sample_seconds = 0.02;
    o.kernel = fake;
  }
  report run() {
    auto planned = make_plan(o);
    if (const auto* problem = std::get_if<std::string>(&planned)) {
      ADD_FAILURE() << *problem;
      return {};
    }
    return bench::run(std::get<plan>(planned));
  }
};

#define NEEDS_TWO_CPUS() \
  if (allowed_cpus().size() < 2) GTEST_SKIP() << "a ping-pong between CPUs needs two"

TEST(kernel_arm, polls_in_its_own_samples_only) {
  NEEDS_TWO_CPUS();
  bench_run b;
  const report r = b.run();
  ASSERT_EQ(r.comparisons.size(), 1u);
  EXPECT_EQ(r.comparisons[0].error, "");
  EXPECT_EQ(r.comparisons[0].baseline_polls, 0u);
  EXPECT_EQ(r.comparisons[0].candidate_polls, 200u);
  EXPECT_EQ(r.comparisons[0].candidate_hits, 180u);
  EXPECT_EQ(b.fake->switched_on, 4u) << "sizing, warm-up and two rounds of one arm";
  EXPECT_FALSE(b.fake->on);
  for (const result& one : r.results)
    EXPECT_EQ(one.measured.wakes_without_interrupt, one.backend == "kernel" ? 80u : 0u)
        << one.backend;
}

TEST(kernel_arm, without_a_poll_it_is_the_baseline_under_another_name) {
  NEEDS_TWO_CPUS();
  bench_run b;
  b.fake->works = false;
  const report r = b.run();
  ASSERT_EQ(r.comparisons.size(), 1u);
  EXPECT_NE(r.comparisons[0].error.find("nothing polled"), std::string::npos)
      << r.comparisons[0].error;
  EXPECT_FALSE(b.fake->on);
}

TEST(kernel_arm, a_worker_that_fails_leaves_it_switched_off) {
  NEEDS_TWO_CPUS();
  bench_run b;
  b.o.worker_limit_seconds = 1;
  b.o.sample_seconds = 50;  // the second sample takes longer than a worker may
  const report r = b.run();
  EXPECT_TRUE(r.failed());
  EXPECT_FALSE(b.fake->on);
}

TEST(kernel_arm, beside_the_process_arm) {
  NEEDS_TWO_CPUS();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's runtime and a preloaded library exclude each other";
#endif
  bench_run b;
  b.o.backends = {"off", "process", "kernel"};
  b.o.rounds = 1;
  const report r = b.run();
  ASSERT_EQ(r.comparisons.size(), 2u);
  for (const comparison& c : r.comparisons) EXPECT_EQ(c.error, "") << c.candidate;
  for (const result& one : r.results)
    EXPECT_EQ(one.measured.wakes_without_interrupt, one.backend == "kernel" ? 80u : 0u)
        << one.backend;
}

TEST(kernel_arm, needs_a_backend) {
  options o;
  o.workloads = {"pipe"};
  o.backends = {"off", "kernel"};
  const auto planned = make_plan(o);
  ASSERT_TRUE(std::holds_alternative<std::string>(planned));
  EXPECT_EQ(std::get<std::string>(planned), "backend kernel: nothing is attached");
}

}  // namespace
}  // namespace haltpoll::bench
