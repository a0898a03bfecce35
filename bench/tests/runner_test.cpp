// The runner with arms that measure nothing: order, medians, proofs and failures.
#include <gtest/gtest.h>

#include <algorithm>
#include <haltpoll/bench/runner.hpp>
#include <map>

namespace haltpoll::bench {
namespace {

constexpr workload latency{"latency", "cross-cpu", "", {}, 100, false};
constexpr workload rate{"rate", "all-cpus", "", {}, 100, true};
constexpr workload fixed{"fixed", "cross-cpu", "", {}, 0, false};
constexpr workload unblocking{"unblocking", "cross-cpu", "", {}, 100, true, false};

/// Arms A and B whose latency follows a script, one value per round (warm-ups say 1 s per op).
class fake_bench {
 public:
  std::string order;                     ///< which arm was asked, one letter each
  std::vector<u64> asked_ops;            ///< and for how many operations
  std::map<char, std::vector<u64>> p50;  ///< by round
  std::map<char, u64> polls{{'A', 0}, {'B', 7}};
  std::map<char, bool> preloaded{{'A', false}, {'B', true}};
  int fails_at = -1;  ///< the call that fails

  plan make(const workload& w, u32 rounds) {
    rounds_ = rounds;
    warm_ups_ = w.first_ops == 0 ? 1 : 2;
    plan p;
    p.rounds = rounds;
    p.sample_seconds = 0.2;
    step s;
    s.load = &w;
    s.arms = {{"off", proof::no_polls, arm_of('A')}, {"process", proof::polls, arm_of('B')}};
    p.steps = {s};
    return p;
  }

 private:
  std::function<outcome(const workload&, const job&)> arm_of(char name) {
    return [this, name](const workload&, const job& j) -> outcome {
      if (static_cast<int>(order.size()) == fails_at) return "broken";
      const u64 call = static_cast<u64>(std::count(order.begin(), order.end(), name));
      order += name;
      asked_ops.push_back(j.ops);
      sample s;
      s.ops = j.ops == 0 ? 50 : j.ops;
      s.p50_ns = call < warm_ups_ ? 1'000'000'000 : p50[name].at(call - warm_ups_);
      s.p99_ns = s.mean_ns = s.p50_ns;
      s.wall_ns = s.ops * (call < warm_ups_ ? 1'000 : s.p50_ns);
      s.cpu_ns = s.ops * (name == 'A' ? 10 : 15);
      s.polls = polls[name];
      s.hits = s.polls;
      s.preloaded = preloaded[name];
      return s;
    };
  }

  u32 rounds_ = 0;
  u64 warm_ups_ = 2;
};

TEST(runner, alternates_the_arms_after_a_warm_up_of_each) {
  fake_bench f;
  f.p50 = {{'A', {4, 4, 4, 4}}, {'B', {2, 2, 2, 2}}};
  const report r = run(f.make(latency, 4));
  EXPECT_EQ(f.order,
            "AABB"
            "AB"
            "BA"
            "AB"
            "BA");
  ASSERT_EQ(r.results.size(), 8u);  // warm-ups are not among them
  EXPECT_EQ(r.results[2].backend, "process");
  EXPECT_EQ(r.results[2].round, 1u);
  EXPECT_FALSE(r.failed());
}

TEST(runner, sizes_a_sample_by_its_time) {
  fake_bench f;
  f.p50 = {{'A', {4}}, {'B', {2}}};
  run(f.make(latency, 1));
  // 100 to learn the size; 1 us each then makes 200'000 in 0.2 s.
  EXPECT_EQ(f.asked_ops, (std::vector<u64>{100, 200'000, 100, 200'000, 200'000, 200'000}));
}

TEST(runner, leaves_a_load_of_fixed_size_alone) {
  fake_bench f;
  f.p50 = {{'A', {4, 4}}, {'B', {2, 2}}};
  run(f.make(fixed, 2));
  EXPECT_EQ(f.order,
            "AB"
            "AB"
            "BA");
  EXPECT_EQ(f.asked_ops, std::vector<u64>(6, 0));
}

TEST(runner, takes_ratios_within_a_round_and_their_median) {
  fake_bench f;
  // The machine slows down by 10 in the third round and hits both arms; B has one outlier.
  f.p50 = {{'A', {100, 120, 1000, 110, 100}}, {'B', {50, 40, 500, 55, 400}}};
  const report r = run(f.make(latency, 5));
  ASSERT_EQ(r.comparisons.size(), 1u);
  const comparison& c = r.comparisons[0];
  EXPECT_EQ(c.error, "");
  EXPECT_DOUBLE_EQ(c.speedup.median, 2.0);
  EXPECT_DOUBLE_EQ(c.speedup.low, 0.25);
  EXPECT_DOUBLE_EQ(c.speedup.high, 3.0);
  EXPECT_DOUBLE_EQ(c.baseline_value, 110);
  EXPECT_DOUBLE_EQ(c.candidate_value, 55);
  EXPECT_DOUBLE_EQ(c.cpu_ratio, 1.5);
  EXPECT_EQ(c.baseline_polls, 0u);
  EXPECT_EQ(c.candidate_polls, 35u);
}

TEST(runner, compares_rates_where_more_is_better) {
  fake_bench f;
  f.p50 = {{'A', {1000, 1000, 1000}}, {'B', {500, 500, 500}}};
  const report r = run(f.make(rate, 3));
  ASSERT_EQ(r.comparisons.size(), 1u);
  EXPECT_DOUBLE_EQ(r.comparisons[0].speedup.median, 2.0);
  EXPECT_DOUBLE_EQ(r.comparisons[0].baseline_value, 1e6);
}

TEST(runner, a_baseline_that_polled_is_an_error_and_no_figure) {
  fake_bench f;
  f.p50 = {{'A', {4, 4}}, {'B', {2, 2}}};
  f.polls['A'] = 3;
  const report r = run(f.make(latency, 2));
  ASSERT_EQ(r.results.size(), 1u);
  EXPECT_NE(r.results[0].error.find("polled 3 times"), std::string::npos);
  ASSERT_EQ(r.comparisons.size(), 1u);
  EXPECT_NE(r.comparisons[0].error.find("arm off: something polled"), std::string::npos);
  EXPECT_DOUBLE_EQ(r.comparisons[0].speedup.median, 0);
  EXPECT_TRUE(r.failed());
}

TEST(runner, a_candidate_that_did_not_poll_is_an_error) {
  fake_bench f;
  f.p50 = {{'A', {4, 4}}, {'B', {2, 2}}};
  f.polls['B'] = 0;
  const report r = run(f.make(latency, 2));
  EXPECT_NE(r.comparisons.at(0).error.find("arm process: nothing polled"), std::string::npos);
}

TEST(runner, a_load_that_never_blocks_proves_its_arm_by_the_library) {
  fake_bench f;
  f.p50 = {{'A', {4}}, {'B', {4}}};
  f.polls['B'] = 0;
  EXPECT_EQ(run(f.make(unblocking, 1)).comparisons.at(0).error, "");
  fake_bench without;
  without.p50 = f.p50;
  without.preloaded['B'] = false;
  EXPECT_NE(run(without.make(unblocking, 1)).comparisons.at(0).error.find("not loaded"),
            std::string::npos);
}

TEST(runner, a_failing_worker_is_reported_with_its_arm_and_ends_the_workload) {
  fake_bench warming;
  warming.fails_at = 2;  // B's first
  const report early = run(warming.make(latency, 3));
  EXPECT_EQ(early.comparisons.at(0).error, "arm process: broken");
  EXPECT_TRUE(early.results.empty());

  fake_bench timed;
  timed.p50 = {{'A', {4, 4, 4}}, {'B', {2, 2, 2}}};
  timed.fails_at = 6;  // B in the second round
  const report late = run(timed.make(latency, 3));
  EXPECT_EQ(late.comparisons.at(0).error, "arm process: broken");
  ASSERT_EQ(late.results.size(), 3u);
  EXPECT_EQ(late.results[2].error, "broken");
  EXPECT_TRUE(late.failed());
}

TEST(runner, one_broken_workload_does_not_stop_the_next) {
  fake_bench bad, good;
  bad.fails_at = 0;
  good.p50 = {{'A', {4}}, {'B', {2}}};
  plan p = bad.make(latency, 1);
  p.steps.push_back(good.make(rate, 1).steps[0]);
  p.steps[0].problem = "needs two CPUs";
  const report r = run(p);
  ASSERT_EQ(r.comparisons.size(), 2u);
  EXPECT_EQ(r.comparisons[0].error, "needs two CPUs");
  EXPECT_EQ(bad.order, "");  // not even tried
  EXPECT_DOUBLE_EQ(r.comparisons[1].speedup.median, 2.0);
}

TEST(runner, progress_counts_every_sample) {
  fake_bench f;
  f.p50 = {{'A', {4, 4}}, {'B', {2, 2}}};
  plan p = f.make(latency, 2);
  std::vector<u32> done;
  p.on_progress = [&](const progress& at) {
    done.push_back(at.done);
    EXPECT_EQ(at.total, 8u);
  };
  EXPECT_EQ(p.samples(), 8u);
  run(p);
  EXPECT_EQ(done, (std::vector<u32>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(runner, each_arm_has_a_curve_of_the_medians_of_its_rows) {
  u64 round = 0;
  const auto curved = [&round](u64 factor) {
    return [&round, factor](const workload&, const job&) -> outcome {
      sample s;
      s.ops = s.p50_ns = s.wall_ns = 1;
      const u64 noise = round++ % 3;
      s.curve = {{2'000, 7'000 * factor + noise, 8'000, 9'000}, {10'000, 60'000, 70'000, 80'000}};
      return s;
    };
  };
  plan p;
  p.rounds = 3;
  step s;
  s.load = &fixed;
  s.arms = {{"off", proof::no_polls, curved(1)}, {"other", proof::by_build, curved(100)}};
  p.steps = {s};
  const report r = run(p);
  ASSERT_EQ(r.curves.at(0).rows.size(), 2u);
  EXPECT_EQ(r.curves[0].rows[0].idle_ns, 2'000u);
  EXPECT_NEAR(static_cast<double>(r.curves[0].rows[0].wake_p50_ns), 7'001, 1);
  EXPECT_EQ(r.curves[0].rows[1].wake_p99_ns, 80'000u);
  ASSERT_EQ(r.curves.size(), 2u);
  EXPECT_EQ(r.curves[1].backend, "other");
  EXPECT_NEAR(static_cast<double>(r.curves[1].rows[0].wake_p50_ns), 700'001, 1);
}

TEST(runner, the_last_of_a_workloads_own_arms_is_compared_with_each_other) {
  static constexpr const char* names[] = {"pthread", "std", "ours"};
  static constexpr workload own{"own", "cross-cpu", "", names, 0, false};
  const auto of_p50 = [](u64 p50) {
    return [p50](const workload&, const job&) -> outcome {
      sample s;
      s.ops = s.wall_ns = 1, s.p50_ns = p50;
      return s;
    };
  };
  plan p;
  p.rounds = 2;
  step s;
  s.load = &own;
  s.arms = {{"pthread", proof::no_polls, of_p50(100)},
            {"std", proof::by_build, of_p50(60)},
            {"ours", proof::by_build, of_p50(20)}};
  p.steps = {s};
  const report r = run(p);
  ASSERT_EQ(r.comparisons.size(), 2u);
  EXPECT_EQ(r.comparisons[0].baseline, "pthread");
  EXPECT_EQ(r.comparisons[0].candidate, "ours");
  EXPECT_DOUBLE_EQ(r.comparisons[0].speedup.median, 5);
  EXPECT_EQ(r.comparisons[1].baseline, "std");
  EXPECT_DOUBLE_EQ(r.comparisons[1].speedup.median, 3);
}

/// The text of the refusal, or "" if the options were taken.
std::string refusal(const options& o) {
  const auto p = make_plan(o);
  return std::holds_alternative<std::string>(p) ? std::get<std::string>(p) : "";
}

TEST(options, errors_name_the_value_and_what_is_allowed) {
  options o;
  o.backends = {"off", "off"};
  o.workloads = {"pipe"};
  EXPECT_EQ(refusal(o), "");

  options bad = o;
  bad.workloads = {"pipes"};
  EXPECT_NE(refusal(bad).find("unknown workload \"pipes\"; there are pipe, pipe-same-cpu"),
            std::string::npos);
  bad = o;
  bad.rounds = 0;
  EXPECT_NE(refusal(bad).find("0 is not within 1 to 1000"), std::string::npos);
  bad = o;
  bad.backends = {"off", "magic"};
  EXPECT_NE(refusal(bad).find("unknown backend \"magic\"; there are off, process"),
            std::string::npos);
  bad = o;
  bad.backends = {"off"};
  EXPECT_NE(refusal(bad).find("baseline first"), std::string::npos);
  bad = o;
  bad.sample_seconds = 0;
  EXPECT_NE(refusal(bad).find("seconds per sample"), std::string::npos);
  bad = o;
  bad.worker_limit_seconds = 0;
  EXPECT_NE(refusal(bad).find("limit"), std::string::npos);
  bad = o;
  bad.backends = {"off", "process"};
  bad.governor = "haltpoll:guest_halt_poll_ns=5000000";
  EXPECT_EQ(refusal(bad), "governor: guest_halt_poll_ns 5000000 is above the limit 1000000");
}

TEST(options, two_arms_of_one_name_are_told_apart) {
  options o;
  o.backends = {"off", "off"};
  o.workloads = {"pipe"};
  const auto p = make_plan(o);
  ASSERT_TRUE(std::holds_alternative<plan>(p));
  EXPECT_EQ(std::get<plan>(p).steps.at(0).arms.at(0).name, "off-1");
  EXPECT_EQ(std::get<plan>(p).steps.at(0).arms.at(1).name, "off-2");
}

}  // namespace
}  // namespace haltpoll::bench
