// The JSON contract and the table.
#include <gtest/gtest.h>

#include <haltpoll/bench/results.hpp>
#include <nlohmann/json.hpp>

#include "wire.hpp"

namespace haltpoll::bench {
namespace {

using json = nlohmann::ordered_json;

report example() {
  report r;
  r.machine = {2, "AMD EPYC", "KVM", "6.18.44", "tsc", "none", 0.1, 0.0};
  r.rounds = 7;
  r.governor = "haltpoll";
  sample s;
  s.ops = 1000, s.wall_ns = 21'000'000, s.cpu_ns = 11'900'000;
  s.p50_ns = 20'800, s.p99_ns = 30'000, s.mean_ns = 21'000, s.halts = 2000;
  s.interrupts = 2000, s.wakes_without_interrupt = 3;
  r.results.push_back({"pipe", "cross-cpu", "off", 0, s, ""});
  s.p50_ns = 5'100, s.polls = 1000, s.hits = 992;
  s.parts = {{"spin", 3.5}};
  r.results.push_back({"pipe", "cross-cpu", "process", 0, s, ""});
  r.results.push_back({"tcp", "cross-cpu", "process", 0, {}, "nothing polled"});
  comparison c;
  c.workload = "pipe", c.placement = "cross-cpu", c.baseline = "off", c.candidate = "process";
  c.baseline_value = 20'800, c.candidate_value = 5'100, c.speedup = {4.08, 3.9, 4.2};
  c.baseline_cpu_ns = 11'900, c.candidate_cpu_ns = 10'100, c.cpu_ratio = 0.85;
  c.candidate_polls = 1000, c.candidate_hits = 992;
  c.baseline_interrupts = 2, c.candidate_interrupts = 0.01;
  r.comparisons.push_back(c);
  comparison m = c;
  m.workload = "messaging", m.placement = "all-cpus", m.higher_is_better = true;
  m.baseline_value = 265'000, m.candidate_value = 262'350, m.speedup = {0.99, 0.97, 1.01};
  m.candidate_polls = 0;
  m.baseline_interrupts = m.candidate_interrupts = std::nullopt;
  r.comparisons.push_back(m);
  comparison bad;
  bad.workload = "tcp", bad.placement = "cross-cpu", bad.baseline = "off";
  bad.candidate = "process", bad.error = "arm process: nothing polled";
  r.comparisons.push_back(bad);
  r.curves = {{"off", {{2'000, 7'000, 8'000, 9'000}}}, {"wait", {{2'000, 300, 400, 500}}}};
  return r;
}

std::vector<std::string> keys(const json& j) {
  std::vector<std::string> all;
  for (const auto& [key, value] : j.items()) all.push_back(key);
  return all;
}

TEST(json, has_the_keys_of_the_contract_in_order) {
  const std::string text = to_json(example());
  EXPECT_EQ(text.back(), '\n');
  const json j = json::parse(text);
  EXPECT_EQ(keys(j), (std::vector<std::string>{"schema", "machine", "rounds", "governor", "results",
                                               "comparisons", "curve"}));
  EXPECT_EQ(j["schema"], "haltpoll.bench/1");
  EXPECT_EQ(keys(j["machine"]),
            (std::vector<std::string>{"cpus", "model", "hypervisor", "kernel", "clocksource",
                                      "cpuidle_driver", "load_before", "steal_percent", "quiet"}));
  EXPECT_EQ(keys(j["results"][0]),
            (std::vector<std::string>{"workload", "placement", "backend", "round", "ops", "p50_ns",
                                      "p99_ns", "mean_ns", "cpu_ns_per_op", "halts", "polls",
                                      "hits", "interrupts", "wakes_without_interrupt"}));
  EXPECT_EQ(keys(j["comparisons"][0]),
            (std::vector<std::string>{"workload", "placement", "baseline", "candidate", "speedup",
                                      "cpu_ratio", "metric", "proof", "baseline_interrupts_per_op",
                                      "candidate_interrupts_per_op", "baseline_value",
                                      "candidate_value"}));
  EXPECT_EQ(keys(j["comparisons"][0]["speedup"]),
            (std::vector<std::string>{"median", "low", "high"}));
  EXPECT_EQ(keys(j["curve"][0]),
            (std::vector<std::string>{"idle_ns", "wake_p50_ns", "wake_p90_ns", "wake_p99_ns"}));
  EXPECT_EQ(j["curve"].size(), 1u);  // the baseline's alone: what replay takes as --curve
  EXPECT_EQ(j["curve"][0]["wake_p50_ns"], 7'000u);
}

TEST(json, times_are_whole_nanoseconds) {
  const json j = json::parse(to_json(example()));
  for (const char* key :
       {"ops", "p50_ns", "p99_ns", "mean_ns", "cpu_ns_per_op", "halts", "polls", "hits", "round"})
    EXPECT_TRUE(j["results"][0][key].is_number_unsigned()) << key;
  EXPECT_EQ(j["results"][0]["cpu_ns_per_op"], 11'900);
  EXPECT_TRUE(j["comparisons"][0]["baseline_value"].is_number_unsigned());
  EXPECT_EQ(j["comparisons"][0]["metric"], "p50_ns");
  EXPECT_EQ(j["comparisons"][1]["metric"], "ops_per_second");
}

TEST(json, an_error_stands_in_place_of_the_figures) {
  const json j = json::parse(to_json(example()));
  EXPECT_EQ(keys(j["results"][2]),
            (std::vector<std::string>{"workload", "placement", "backend", "round", "error"}));
  EXPECT_EQ(keys(j["comparisons"][2]),
            (std::vector<std::string>{"workload", "placement", "baseline", "candidate", "error"}));
}

TEST(json, carries_the_proof_that_the_arms_differed) {
  const json proof = json::parse(to_json(example()))["comparisons"][0]["proof"];
  EXPECT_EQ(proof["baseline_polls"], 0);
  EXPECT_EQ(proof["candidate_polls"], 1000);
  EXPECT_EQ(proof["candidate_hits"], 992);
}

TEST(wire, a_sample_survives_the_way) {
  sample s;
  s.ops = 1, s.wall_ns = 2, s.cpu_ns = 3, s.p50_ns = 4, s.p99_ns = 5, s.mean_ns = 6, s.halts = 7;
  s.polls = 8, s.hits = 9, s.curve = {{1, 2, 3, 4}}, s.parts = {{"spin", 1.5}}, s.preloaded = true;
  const outcome o = decode(encode(s));
  ASSERT_TRUE(std::holds_alternative<sample>(o));
  EXPECT_EQ(encode(o), encode(s));
  EXPECT_EQ(std::get<sample>(o).hits, 9u);
  EXPECT_EQ(std::get<sample>(o).curve.at(0).wake_p99_ns, 4u);
  EXPECT_EQ(std::get<sample>(o).parts.at(0).name, "spin");
  EXPECT_TRUE(std::get<sample>(o).preloaded);
}

TEST(wire, errors_and_rubbish_are_errors) {
  EXPECT_EQ(std::get<std::string>(decode(encode("no \"luck\"\n"))), "no \"luck\"\n");
  for (const char* rubbish : {"", "{", "{}", "[1]", "{\"ops\":-1}", "Segmentation fault"})
    EXPECT_TRUE(std::holds_alternative<std::string>(decode(rubbish))) << rubbish;
}

TEST(table, one_line_per_comparison_with_units) {
  EXPECT_EQ(
      to_table(example()),
      R"(2 CPUs, AMD EPYC, guest of KVM, kernel 6.18.44, clock tsc, idle driver none; 7 rounds, arms alternating
workload  placement  off p50  process p50  speed-up (low..high)  CPU per op          IPIs per op   polls hit
pipe      cross-cpu  20.8 us  5.1 us       4.1x (3.9..4.2)       11.9 us -> 10.1 us  2.00 -> 0.01  99.2 %
workload   placement  off per s  process per s  speed-up (low..high)  CPU per op          IPIs per op  polls hit
messaging  all-cpus   265000     262350         0.99x (0.97..1.01)    11.9 us -> 10.1 us  -            -
idle    off p50  p90     p99     wait p50  p90     p99
2.0 us  7.0 us   8.0 us  9.0 us  300 ns    400 ns  500 ns
tcp (cross-cpu): no figure for process against off: arm process: nothing polled
)");
}

TEST(table, says_when_the_machine_was_not_quiet) {
  report r = example();
  EXPECT_EQ(to_table(r).find("not quiet"), std::string::npos);
  r.machine.load_before = 2.5;
  EXPECT_NE(to_table(r).find("not quiet: load 2.50 before, 0.0 % stolen"), std::string::npos);
}

TEST(table, arms_of_a_workloads_own_are_named_in_their_rows) {
  report r = example();
  r.comparisons.resize(1);
  comparison& first = r.comparisons[0];
  first.own_arms = true;
  first.workload = "event", first.baseline = "pthread_cond", first.candidate = "haltpoll";
  comparison second = first;
  second.baseline = "absl";
  r.comparisons.push_back(second);
  const std::string text = to_table(r);
  EXPECT_NE(text.find("against p50           haltpoll p50"), std::string::npos) << text;
  EXPECT_NE(text.find("pthread_cond 20.8 us  5.1 us"), std::string::npos) << text;
  EXPECT_NE(text.find("absl 20.8 us          5.1 us"), std::string::npos) << text;
}

}  // namespace
}  // namespace haltpoll::bench
