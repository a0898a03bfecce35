#include "compare.hpp"

#include <algorithm>
#include <cmath>

#include "statistics.hpp"

namespace haltpoll::bench {
namespace {

double cpu_per_op(const sample& s) {
  return s.ops == 0 ? 0 : static_cast<double>(s.cpu_ns) / static_cast<double>(s.ops);
}

/// Samples of one arm, by round (the arms of a round come in either order).
using series = std::vector<const sample*>;

series of(std::span<const result> taken, const std::string& backend) {
  series s;
  for (const result& r : taken)
    if (r.backend == backend) s.push_back(&r.measured);
  return s;
}

template <class Of>
std::vector<double> each(const series& s, Of of_sample) {
  std::vector<double> values;
  for (const sample* one : s) values.push_back(of_sample(*one));
  return values;
}

std::optional<double> interrupts_per_op(const series& s) {
  std::vector<double> values;
  for (const sample* one : s) {
    if (!one->interrupts || one->ops == 0) return std::nullopt;
    values.push_back(static_cast<double>(*one->interrupts) / static_cast<double>(one->ops));
  }
  return median(values);
}

}  // namespace

std::string disproof(const workload& w, const arm& a, const sample& s) {
  if (a.expected == proof::no_polls && s.polls != 0)
    return "something polled " + std::to_string(s.polls) +
           " times where nothing should (is the preload library in LD_PRELOAD already, or the "
           "kernel's idle loop polling?)";
  if (a.expected == proof::polls && !s.preloaded) return "the preload library was not loaded";
  if ((a.expected == proof::polls || a.expected == proof::kernel_polls) && w.blocks && s.polls == 0)
    return "nothing polled, so this would be the baseline under another name";
  if (value_of(w, s) <= 0) return "the worker measured nothing";
  return "";
}

double value_of(const workload& w, const sample& s) {
  if (!w.higher_is_better) return static_cast<double>(s.p50_ns);
  if (!s.parts.empty()) {
    double sum = 0;
    for (const part& p : s.parts) sum += std::log(p.per_second);
    return std::exp(sum / static_cast<double>(s.parts.size()));
  }
  return s.wall_ns == 0 ? 0 : static_cast<double>(s.ops) * 1e9 / static_cast<double>(s.wall_ns);
}

comparison compare(const workload& w, const arm& baseline, const arm& candidate,
                   std::span<const result> taken, const std::string& problem) {
  comparison c;
  c.workload = w.name;
  c.placement = w.placement;
  c.baseline = baseline.name;
  c.candidate = candidate.name;
  c.own_arms = !w.arms.empty();
  c.higher_is_better = w.higher_is_better;
  c.error = problem;
  if (!problem.empty()) return c;

  const series base = of(taken, baseline.name), cand = of(taken, candidate.name);
  const auto value = [&w](const sample& s) { return value_of(w, s); };
  const std::vector<double> bv = each(base, value), cv = each(cand, value);
  const std::vector<double> bc = each(base, cpu_per_op), cc = each(cand, cpu_per_op);
  std::vector<double> speedups, cpu_ratios;
  for (std::size_t round = 0; round < bv.size(); ++round) {
    speedups.push_back(w.higher_is_better ? cv[round] / bv[round] : bv[round] / cv[round]);
    if (bc[round] > 0) cpu_ratios.push_back(cc[round] / bc[round]);
  }
  c.baseline_value = median(bv);
  c.candidate_value = median(cv);
  c.baseline_cpu_ns = median(bc);
  c.candidate_cpu_ns = median(cc);
  const auto [low, high] = std::minmax_element(speedups.begin(), speedups.end());
  c.speedup = {median(speedups), *low, *high};
  c.cpu_ratio = median(cpu_ratios);
  c.baseline_interrupts = interrupts_per_op(base);
  c.candidate_interrupts = interrupts_per_op(cand);
  for (const sample* s : base) c.baseline_polls += s->polls;
  for (const sample* s : cand) c.candidate_polls += s->polls, c.candidate_hits += s->hits;
  return c;
}

std::vector<curve_row> median_curve(std::span<const result> taken, const std::string& backend) {
  std::vector<curve_row> rows;
  const series rounds = of(taken, backend);
  if (rounds.empty()) return rows;
  for (std::size_t i = 0; i < rounds.front()->curve.size(); ++i) {
    const auto middle = [&](u64 curve_row::*member) {
      std::vector<double> values;
      for (const sample* s : rounds)
        if (i < s->curve.size()) values.push_back(static_cast<double>(s->curve[i].*member));
      return static_cast<u64>(median(values));
    };
    rows.push_back({middle(&curve_row::idle_ns), middle(&curve_row::wake_p50_ns),
                    middle(&curve_row::wake_p90_ns), middle(&curve_row::wake_p99_ns)});
  }
  return rows;
}

}  // namespace haltpoll::bench
