#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <haltpoll/bench/results.hpp>

namespace haltpoll::bench {
namespace {

using line = std::vector<std::string>;

std::string time_text(double ns) {
  if (ns < 1'000) return fmt::format("{:.0f} ns", ns);
  if (ns < 1'000'000) return fmt::format("{:.1f} us", ns / 1e3);
  return fmt::format("{:.1f} ms", ns / 1e6);
}

std::string value_text(const comparison& c, double value) {
  return c.higher_is_better ? fmt::format("{:.0f}", value) : time_text(value);
}

std::string ratio_text(const comparison& c) {
  // One digit hides what matters near 1, where "must not change" is decided.
  const auto digits = [](double r) { return r < 2 ? 2 : 1; };
  const spread& s = c.speedup;
  return fmt::format("{:.{}f}x ({:.{}f}..{:.{}f})", s.median, digits(s.median), s.low,
                     digits(s.low), s.high, digits(s.high));
}

std::string hit_text(const comparison& c) {
  if (c.candidate_polls == 0) return "-";
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(c.candidate_hits) /
                                     static_cast<double>(c.candidate_polls));
}

std::string interrupt_text(const comparison& c) {
  if (!c.baseline_interrupts || !c.candidate_interrupts) return "-";
  return fmt::format("{:.2f} -> {:.2f}", *c.baseline_interrupts, *c.candidate_interrupts);
}

/// Columns padded to their widest cell, two spaces apart, nothing after the last.
std::string aligned(const std::vector<line>& lines) {
  std::vector<std::size_t> width;
  for (const line& l : lines) {
    width.resize(std::max(width.size(), l.size()), 0);
    for (std::size_t i = 0; i < l.size(); ++i) width[i] = std::max(width[i], l[i].size());
  }
  std::string text;
  for (const line& l : lines) {
    for (std::size_t i = 0; i < l.size(); ++i)
      text += i + 1 == l.size() ? l[i] : fmt::format("{:<{}}  ", l[i], width[i]);
    text += '\n';
  }
  return text;
}

/// Comparisons under one heading: the same arms and the same kind of value; for workloads with arms
/// of their own, those of one workload.
bool together(const comparison& a, const comparison& b) {
  if (a.higher_is_better != b.higher_is_better || a.own_arms != b.own_arms) return false;
  if (a.own_arms) return a.workload == b.workload;
  return a.baseline == b.baseline && a.candidate == b.candidate;
}

line heading(const comparison& c) {
  const std::string unit = c.higher_is_better ? " per s" : " p50";
  return {"workload",
          "placement",
          c.own_arms ? "against" + unit : c.baseline + unit,
          c.candidate + unit,
          "speed-up (low..high)",
          "CPU per op",
          "IPIs per op",
          "polls hit"};
}

line row(const comparison& c) {
  const std::string baseline = value_text(c, c.baseline_value);
  return {c.workload,
          c.placement,
          c.own_arms ? c.baseline + " " + baseline : baseline,
          value_text(c, c.candidate_value),
          ratio_text(c),
          time_text(c.baseline_cpu_ns) + " -> " + time_text(c.candidate_cpu_ns),
          interrupt_text(c),
          hit_text(c)};
}

/// Idle times downwards, arms side by side; all arms of a run have the same idle times.
std::vector<line> curve_lines(const std::vector<arm_curve>& curves) {
  std::vector<line> lines{{"idle"}};
  for (const curve_row& c : curves.front().rows)
    lines.push_back({time_text(static_cast<double>(c.idle_ns))});
  for (const arm_curve& a : curves) {
    for (const char* column : {" p50", "p90", "p99"})
      lines[0].push_back(*column == ' ' ? a.backend + column : column);
    for (std::size_t i = 0; i < a.rows.size() && i + 1 < lines.size(); ++i)
      for (const u64 ns : {a.rows[i].wake_p50_ns, a.rows[i].wake_p90_ns, a.rows[i].wake_p99_ns})
        lines[i + 1].push_back(time_text(static_cast<double>(ns)));
  }
  return lines;
}

std::string about(const report& r) {
  const machine& m = r.machine;
  std::string text = fmt::format(
      "{} CPU{}, {}, {}, kernel {}, clock {}, idle driver {}; {} round{}, arms alternating\n",
      m.cpus, m.cpus == 1 ? "" : "s", m.model,
      m.hypervisor == "none" ? "no hypervisor" : "guest of " + m.hypervisor, m.kernel,
      m.clocksource, m.cpuidle_driver, r.rounds, r.rounds == 1 ? "" : "s");
  if (!m.quiet())
    text += fmt::format(
        "not quiet: load {:.2f} before, {:.1f} % stolen; believe the ratios, not the times\n",
        m.load_before, m.steal_percent);
  return text;
}

}  // namespace

std::string to_table(const report& r) {
  std::string text = about(r);
  std::vector<const comparison*> left;
  for (const comparison& c : r.comparisons)
    if (c.error.empty()) left.push_back(&c);
  while (!left.empty()) {
    const comparison& first = *left.front();
    std::vector<line> lines{heading(first)};
    const auto rest = std::stable_partition(
        left.begin(), left.end(), [&](const comparison* c) { return together(first, *c); });
    for (auto c = left.begin(); c != rest; ++c) lines.push_back(row(**c));
    left.erase(left.begin(), rest);
    text += aligned(lines);
  }
  if (!r.curves.empty()) text += aligned(curve_lines(r.curves));
  for (const comparison& c : r.comparisons)
    if (!c.error.empty())
      text += fmt::format("{} ({}): no figure for {} against {}: {}\n", c.workload, c.placement,
                          c.candidate, c.baseline, c.error);
  return text;
}

}  // namespace haltpoll::bench
