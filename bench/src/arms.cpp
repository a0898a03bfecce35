#include "arms.hpp"

#include <haltpoll/core/spec.hpp>
#include <haltpoll/process/launch.hpp>

#include "worker_process.hpp"

namespace haltpoll::bench {
namespace {

std::string listed(const std::vector<std::string>& places) {
  std::string all;
  for (const std::string& p : places) all += (all.empty() ? "" : ", ") + p;
  return all;
}

/// What every worker of an arm has in common. With a library, it runs under it.
struct recipe {
  std::string worker;
  u32 limit_seconds;
  std::string library, governor;
  std::string variant;
  std::shared_ptr<kernel_switch> kernel;  // null where nothing is attached
  bool kernel_polls = false;
};

/// The kernel backend polls while this lives, if the arm wants it, and what it did meanwhile is added to a sample.
class kernel_share {
 public:
  explicit kernel_share(const recipe& how) : kernel_(how.kernel.get()) {
    if (kernel_ == nullptr) return;
    before_ = kernel_->counted();
    kernel_->poll(how.kernel_polls);
  }
  ~kernel_share() {
    if (kernel_ != nullptr) kernel_->poll(false);
  }
  kernel_share(const kernel_share&) = delete;
  kernel_share& operator=(const kernel_share&) = delete;
  void add_to(sample& s) const {
    if (kernel_ == nullptr) return;
    const kernel::totals now = kernel_->counted();
    s.polls += now.polls - before_.polls;
    s.hits += now.hits - before_.hits;
    s.wakes_without_interrupt += now.wakes_without_interrupt - before_.wakes_without_interrupt;
  }

 private:
  kernel_switch* kernel_;
  kernel::totals before_;
};

/// One worker with a stats page of its own. The baseline has one too: that its polls are 0 is then
/// observed (the caller's environment may hold the library), not assumed.
outcome measure(const recipe& how, const workload& w, const job& j) {
  const process::stats_memory stats;
  if (!stats.ok()) return "no memory for the stats page";
  worker_command c;
  c.argv = {how.worker, w.name,
            "--ops",    std::to_string(j.ops),
            "--cpu-a",  std::to_string(j.cpu_a),
            "--cpu-b",  std::to_string(j.cpu_b)};
  if (!how.variant.empty()) c.argv.insert(c.argv.end(), {"--variant", how.variant});
  c.environment = how.library.empty()
                      ? std::vector<std::string>{"HALTPOLL_STATS=" + stats.path()}
                      : process::preload_environment(how.library, how.governor, stats.path());
  c.limit_seconds = how.limit_seconds;
  const kernel_share kernel(how);
  outcome o = run_worker(c);
  if (auto* s = std::get_if<sample>(&o)) {
    const process::stats_totals t = process::sum(stats.page());
    s->polls += t.polls;
    s->hits += t.hits;
    kernel.add_to(*s);
  }
  return o;
}

std::variant<recipe, std::string> find_worker(const options& o) {
  std::vector<std::string> looked_at;
  recipe r{worker_program(looked_at), o.worker_limit_seconds, "", "", "", o.kernel, false};
  if (r.worker.empty()) return "haltpoll-worker not found; looked at " + listed(looked_at);
  return r;
}

arm make(const std::string& name, proof expected, recipe how) {
  return {name, expected,
          [how = std::move(how)](const workload& w, const job& j) { return measure(how, w, j); }};
}

}  // namespace

std::variant<arm, std::string> backend_arm(const std::string& backend, const options& o) {
  auto found = find_worker(o);
  if (auto* problem = std::get_if<std::string>(&found)) return *problem;
  recipe& how = std::get<recipe>(found);
  if (backend == "off") return make(backend, proof::no_polls, how);
  if (backend == "kernel") {
    if (o.kernel == nullptr) return std::string("backend kernel: nothing is attached");
    how.kernel_polls = true;
    return make(backend, proof::kernel_polls, how);
  }
  if (backend != "process")
    return "unknown backend \"" + backend + "\"; there are off, process, kernel";

  const auto parsed = core::spec::parse({o.governor.data(), static_cast<u32>(o.governor.size())});
  if (parsed.code != core::spec::error::none) {
    char text[core::spec::max_length * 2];
    core::spec::line line{text, sizeof text};
    core::spec::describe(parsed, line);
    return "governor: " + std::string(text);
  }
  how.governor = o.governor;
  std::vector<std::string> looked_at;
  how.library = process::preload_library(&looked_at);
  if (how.library.empty())
    return "backend process: libhaltpoll_preload.so not found; looked at " + listed(looked_at);
  return make(backend, proof::polls, how);
}

std::variant<arm, std::string> own_arm(const std::string& variant, const options& o,
                                       bool is_baseline) {
  auto found = find_worker(o);
  if (auto* problem = std::get_if<std::string>(&found)) return *problem;
  std::get<recipe>(found).variant = variant;
  return make(variant, is_baseline ? proof::no_polls : proof::by_build, std::get<recipe>(found));
}

}  // namespace haltpoll::bench
