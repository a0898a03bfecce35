#include <algorithm>
#include <haltpoll/bench/results.hpp>
#include <nlohmann/json.hpp>

#include "wire.hpp"

namespace haltpoll::bench {
namespace {

using json = nlohmann::ordered_json;

json of(const machine& m) {
  return {{"cpus", m.cpus},
          {"model", m.model},
          {"hypervisor", m.hypervisor},
          {"kernel", m.kernel},
          {"clocksource", m.clocksource},
          {"cpuidle_driver", m.cpuidle_driver},
          {"load_before", m.load_before},
          {"steal_percent", m.steal_percent},
          {"quiet", m.quiet()}};
}

json of(const result& r) {
  json j = {{"workload", r.workload},
            {"placement", r.placement},
            {"backend", r.backend},
            {"round", r.round}};
  if (!r.error.empty()) {
    j["error"] = r.error;
    return j;
  }
  const sample& s = r.measured;
  j["ops"] = s.ops;
  j["p50_ns"] = s.p50_ns;
  j["p99_ns"] = s.p99_ns;
  j["mean_ns"] = s.mean_ns;
  j["cpu_ns_per_op"] = s.ops == 0 ? 0 : s.cpu_ns / s.ops;
  j["halts"] = s.halts;
  j["polls"] = s.polls;
  j["hits"] = s.hits;
  if (s.interrupts) j["interrupts"] = *s.interrupts;
  if (s.wakes_without_interrupt != 0) j["wakes_without_interrupt"] = s.wakes_without_interrupt;
  if (!s.curve.empty()) j["curve"] = to_json(s.curve);
  if (!s.parts.empty()) j["parts"] = to_json(s.parts);
  return j;
}

json of(const comparison& c) {
  json j = {{"workload", c.workload},
            {"placement", c.placement},
            {"baseline", c.baseline},
            {"candidate", c.candidate}};
  if (!c.error.empty()) {
    j["error"] = c.error;
    return j;
  }
  j["speedup"] = {{"median", c.speedup.median}, {"low", c.speedup.low}, {"high", c.speedup.high}};
  j["cpu_ratio"] = c.cpu_ratio;
  j["metric"] = c.higher_is_better ? "ops_per_second" : "p50_ns";
  j["proof"] = {{"baseline_polls", c.baseline_polls},
                {"candidate_polls", c.candidate_polls},
                {"candidate_hits", c.candidate_hits}};
  if (c.baseline_interrupts) j["baseline_interrupts_per_op"] = *c.baseline_interrupts;
  if (c.candidate_interrupts) j["candidate_interrupts_per_op"] = *c.candidate_interrupts;
  if (c.higher_is_better) {
    j["baseline_value"] = c.baseline_value;
    j["candidate_value"] = c.candidate_value;
  } else {
    j["baseline_value"] = static_cast<u64>(c.baseline_value);
    j["candidate_value"] = static_cast<u64>(c.candidate_value);
  }
  return j;
}

template <class T>
json list(const std::vector<T>& from) {
  json all = json::array();
  for (const T& one : from) all.push_back(of(one));
  return all;
}

}  // namespace

bool report::failed() const {
  const auto bad = [](const auto& one) { return !one.error.empty(); };
  return std::any_of(results.begin(), results.end(), bad) ||
         std::any_of(comparisons.begin(), comparisons.end(), bad);
}

std::string to_json(const report& r) {
  json j;
  j["schema"] = "haltpoll.bench/1";
  j["machine"] = of(r.machine);
  j["rounds"] = r.rounds;
  j["governor"] = r.governor;
  j["results"] = list(r.results);
  j["comparisons"] = list(r.comparisons);
  j["curve"] = to_json(r.curves.empty() ? std::vector<curve_row>{} : r.curves.front().rows);
  return j.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace haltpoll::bench
