#include <algorithm>
#include <cstring>
#include <haltpoll/bench/runner.hpp>
#include <span>
#include <tuple>

#include "arms.hpp"
#include "compare.hpp"

namespace haltpoll::bench {
namespace {

/// Most operations of one sample: the recorded times then take 80 MB.
constexpr u64 most_ops = 10'000'000;

const workload* find(const std::string& name) {
  for (const workload& w : workloads())
    if (name == w.name) return &w;
  return nullptr;
}

std::string names() {
  std::string all;
  for (const workload& w : workloads()) all += (all.empty() ? "" : ", ") + std::string(w.name);
  return all;
}

/// CPUs of a workload by its placement, or why there are none.
std::string place(step& s) {
  const std::vector<int> allowed = allowed_cpus();
  if (allowed.empty()) return "cannot read the CPU affinity of this process";
  s.base.cpu_a = s.base.cpu_b = allowed.front();
  if (std::strcmp(s.load->placement, "cross-cpu") != 0) return "";
  const auto pair = choose_pair(allowed);
  if (!pair)
    return "needs two CPUs; this process may run on CPU " + std::to_string(allowed.front()) +
           " only";
  std::tie(s.base.cpu_a, s.base.cpu_b) = *pair;
  return "";
}

/// Appends an arm, or returns what is wrong.
std::string add(std::vector<arm>& arms, std::variant<arm, std::string> a) {
  if (auto* problem = std::get_if<std::string>(&a)) return *problem;
  arms.push_back(std::move(std::get<arm>(a)));
  return "";
}

/// Operations that make a sample of `seconds`, from one that was measured.
u64 size_for(const sample& s, double seconds) {
  if (s.wall_ns == 0) return most_ops;
  const double ops = static_cast<double>(s.ops) * seconds * 1e9 / static_cast<double>(s.wall_ns);
  return std::clamp<u64>(static_cast<u64>(ops), 1, most_ops);
}

/// Runs one step and keeps count of the samples for the progress callback.
class measurement {
 public:
  measurement(const plan& p, report& r) : plan_(p), report_(r), total_(p.samples()) {}

  void run(const step& s) {
    const u32 samples_of_step = static_cast<u32>(s.arms.size()) * (plan_.rounds + warm_ups(s));
    const u32 done_after = done_ + samples_of_step;
    const std::size_t first = report_.results.size();
    std::string problem = s.problem;
    std::vector<u64> ops(s.arms.size(), 0);
    for (std::size_t a = 0; a < s.arms.size() && problem.empty(); ++a)
      problem = size_and_warm_up(s, a, ops[a]);
    for (u32 round = 0; round < plan_.rounds && problem.empty(); ++round)
      for (std::size_t i = 0; i < s.arms.size() && problem.empty(); ++i) {
        // Forth, then back: A B B A. What drifts steadily hits both arms alike.
        const std::size_t a = round % 2 == 0 ? i : s.arms.size() - 1 - i;
        problem = timed(s, a, round, ops[a]);
      }
    done_ = done_after;
    const std::span<const result> taken = std::span(report_.results).subspan(first);
    // Backends are compared with the first, the baseline. Of a workload's own arms the last is ours
    // and compared with each of the others.
    const bool own = !s.load->arms.empty();
    for (std::size_t a = 1; a < s.arms.size(); ++a)
      report_.comparisons.push_back(compare(*s.load, s.arms[own ? a - 1 : 0],
                                            own ? s.arms.back() : s.arms[a], taken, problem));
    if (problem.empty()) {
      for (const arm& a : s.arms) {
        std::vector<curve_row> rows = median_curve(taken, a.name);
        if (!rows.empty()) report_.curves.push_back({a.name, std::move(rows)});
      }
    }
  }

  /// Samples per arm that are thrown away: one to learn the size, one of that size as warm-up.
  static u32 warm_ups(const step& s) { return s.load->first_ops == 0 ? 1 : 2; }

 private:
  outcome measure(const step& s, std::size_t a, u64 ops) {
    const arm& chosen = s.arms[a];
    if (plan_.on_progress) plan_.on_progress({s.load->name, chosen.name, done_, total_});
    ++done_;
    job j = s.base;
    j.ops = ops;
    return chosen.measure(*s.load, j);
  }

  /// Leaves in `ops` what a sample of this arm shall have; each arm's samples take the same time,
  /// so that a disturbance hits either with the same chance. Empty, or what went wrong.
  std::string size_and_warm_up(const step& s, std::size_t a, u64& ops) {
    ops = s.load->first_ops;
    for (u32 i = 0; i < warm_ups(s); ++i) {
      const outcome o = measure(s, a, ops);
      if (const auto* error = std::get_if<std::string>(&o))
        return "arm " + s.arms[a].name + ": " + *error;
      if (s.load->first_ops != 0) ops = size_for(std::get<sample>(o), plan_.sample_seconds);
    }
    return "";
  }

  std::string timed(const step& s, std::size_t a, u32 round, u64 ops) {
    outcome o = measure(s, a, ops);
    result r{s.load->name, s.load->placement, s.arms[a].name, round, {}, ""};
    if (auto* error = std::get_if<std::string>(&o)) {
      r.error = *error;
    } else {
      r.measured = std::move(std::get<sample>(o));
      r.error = disproof(*s.load, s.arms[a], r.measured);
    }
    std::string problem = r.error.empty() ? "" : "arm " + r.backend + ": " + r.error;
    report_.results.push_back(std::move(r));
    return problem;
  }

  const plan& plan_;
  report& report_;
  u32 done_ = 0, total_;
};

}  // namespace

std::vector<std::string> default_workloads() {
  std::vector<std::string> all;
  for (const workload& w : workloads())
    if (w.by_default) all.emplace_back(w.name);
  return all;
}

u32 plan::samples() const {
  u32 n = 0;
  for (const step& s : steps)
    n += static_cast<u32>(s.arms.size()) * (rounds + measurement::warm_ups(s));
  return n;
}

std::variant<plan, std::string> make_plan(const options& o) {
  constexpr u32 most_rounds = 1000;
  if (o.rounds < 1 || o.rounds > most_rounds)
    return "rounds: " + std::to_string(o.rounds) + " is not within 1 to " +
           std::to_string(most_rounds);
  if (!(o.sample_seconds > 0 && o.sample_seconds <= 60))
    return "seconds per sample: " + std::to_string(o.sample_seconds) + " is not within 0 to 60";
  if (o.worker_limit_seconds == 0) return "limit of a worker: 0 s leaves it no time";
  if (o.backends.size() < 2) return "backends: two are needed to compare, baseline first";
  plan p{{}, o.rounds, o.governor, o.sample_seconds, o.on_progress};
  std::vector<arm> backends;
  for (const std::string& b : o.backends) {
    if (std::string problem = add(backends, backend_arm(b, o)); !problem.empty()) return problem;
    const auto same = std::count(o.backends.begin(), o.backends.end(), b);
    if (same > 1) backends.back().name += "-" + std::to_string(backends.size());
  }
  for (const std::string& name : o.workloads.empty() ? default_workloads() : o.workloads) {
    step s;
    s.load = find(name);
    if (s.load == nullptr) return "unknown workload \"" + name + "\"; there are " + names();
    s.problem = place(s);
    if (s.load->arms.empty()) s.arms = backends;
    for (const char* variant : s.load->arms)
      if (std::string problem = add(s.arms, own_arm(variant, o, s.arms.empty())); !problem.empty())
        return problem;
    p.steps.push_back(std::move(s));
  }
  return p;
}

report run(const plan& p) {
  report r;
  r.machine = read_machine();
  r.rounds = p.rounds;
  r.governor = p.governor;
  const auto before = read_cpu_time();
  measurement m(p, r);
  for (const step& s : p.steps) m.run(s);
  const auto after = read_cpu_time();
  if (before && after) r.machine.steal_percent = steal_percent(*before, *after);
  return r;
}

}  // namespace haltpoll::bench
