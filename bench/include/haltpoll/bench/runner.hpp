#pragma once
// runner: measures arms against each other so that the ratio can be believed.
//
// The naive loop (all of A, then all of B, averages) misleads on a shared machine: its neighbours
// and its clock speed drift over seconds and hit one arm only, the first run pays for cold caches
// and a governor that has not learned, and one descheduling of 4 ms outweighs two hundred round
// trips of 20 us in a mean. So: every arm is sized first and warmed up by a sample that is thrown
// away; the arms then alternate A B B A; ratios are taken within a round, where drift cancels; the
// median of a sample and the median of the rounds count, never an average.
//
// Every sample is a fresh worker process. It dies with the runner and is killed with all its
// children when it takes too long: nothing is left behind.
#include <functional>
#include <haltpoll/bench/kernel_switch.hpp>
#include <haltpoll/bench/results.hpp>
#include <haltpoll/bench/workload.hpp>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace haltpoll::bench {

struct progress {
  const char* workload;
  const std::string& arm;
  u32 done, total;  ///< samples, over the whole run
};

/// What must hold for an arm's figures to be what they are said to be.
enum class proof : u32 {
  no_polls,      ///< nothing may have polled: the baseline
  polls,         ///< something must have, in a process under the library
  kernel_polls,  ///< the kernel's idle loop must have
  by_build,      ///< the workload's own arms are different code
};

/// One way to run a load.
struct arm {
  std::string name;
  proof expected;
  std::function<outcome(const workload&, const job&)> measure;
};

struct options {
  std::vector<std::string> workloads;  ///< names; empty: default_workloads()
  std::vector<std::string> backends = {"off",
                                       "process"};  ///< baseline first; `off,off` shows noise
  u32 rounds = 7;                                   ///< 1 to 1000
  std::string governor = "haltpoll";                ///< a spec of core::spec, for `process`
  double sample_seconds = 0.2;    ///< 7 rounds of 2 arms: 3.5 s per workload with start and warm-up
  u32 worker_limit_seconds = 60;  ///< a worker that takes longer is killed
  std::function<void(const progress&)> on_progress;
  std::shared_ptr<kernel_switch>
      kernel;  ///< needed for `kernel` among the backends: attach_kernel()
};

/// One workload and its arms, baseline first.
struct step {
  const workload* load;
  std::vector<arm> arms;
  job base;             ///< CPUs
  std::string problem;  ///< why it cannot be measured here; empty: it can
};

struct plan {
  std::vector<step> steps;
  u32 rounds = 7;
  std::string governor;
  double sample_seconds = 0.2;
  std::function<void(const progress&)> on_progress;
  u32 samples() const;  ///< how many workers will be started
};

/// Names of the workloads that a bench without names runs (by_default), in the table's order.
std::vector<std::string> default_workloads();

/// Checks every option and finds worker, library and CPUs. The text says which value is wrong and
/// what is allowed. A workload that this machine cannot run stays in the plan with its problem.
std::variant<plan, std::string> make_plan(const options& o);

/// Measures. Never throws; what failed is in the report as an error in place of a figure.
report run(const plan& p);

}  // namespace haltpoll::bench
