#pragma once
// bench: workloads and the A/B runner that says whether polling pays on this machine.
//
// The room must not decide windows (core) or print to the terminal (cli). A workload runs in a
// worker process of its own, fresh for every arm of every round, because a preload library is
// chosen when a process starts. The runner alternates the arms A B B A, so that drift of a shared
// machine hits both, and compares medians of ratios taken within a round. An arm proves that it
// differed: polls = 0 in `off`, > 0 in the other.
//
// workload: one load and how one measurement of it is made, inside the worker.
#include <haltpoll/core/types.hpp>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace haltpoll::bench {

using core::u32;
using core::u64;

/// What the runner asks of the worker.
struct job {
  u64 ops = 0;          ///< operations to time
  std::string variant;  ///< for workloads with arms of their own: which
  int cpu_a = 0;        ///< CPU of the measuring side
  int cpu_b = 1;        ///< CPU of its peer; the same as cpu_a for same-CPU placements
};

/// One row of a penalty curve: wake latency by idle time so far.
struct curve_row {
  u64 idle_ns, wake_p50_ns, wake_p90_ns, wake_p99_ns;
};

/// A rate that stands beside a sample's latencies (docs/bench-workloads.md says which): of
/// `throughput` one part of its index, in operations per second.
struct part {
  std::string name;
  double per_second;
};

/// One measurement: one arm, one round. Latencies are of one operation (a round trip for
/// ping-pongs), ns.
struct sample {
  u64 ops = 0;
  u64 wall_ns = 0;
  u64 cpu_ns = 0;  ///< user + system time of all processes of the load
  u64 p50_ns = 0;
  u64 p99_ns = 0;
  u64 mean_ns = 0;
  u64 halts = 0;  ///< voluntary context switches of the load's threads: times a thread gave up its
                  ///< CPU to wait
  u64 polls = 0;  ///< filled by the runner from the stats page for process arms, by the workload
                  ///< for wait arms
  u64 hits = 0;
  u64 wakes_without_interrupt = 0;  ///< filled by the runner where the kernel backend is attached
  std::optional<u64>
      interrupts;  ///< sent to wake a CPU while the operations ran, by all CPUs; none: this machine or this
                   ///< load does not tell
  std::vector<curve_row> curve;  ///< `wake` only
  std::vector<part> parts;       ///< where higher_is_better, their geometric mean is compared
  bool preloaded = false;        ///< filled by the worker: the preload library is mapped in it
};

/// Either a sample or why there is none (one line, what and where).
using outcome = std::variant<sample, std::string>;

struct workload {
  const char* name;
  const char* placement;    ///< "cross-cpu", "same-cpu", "all-cpus"
  const char* description;  ///< one line, with what it corresponds to elsewhere
  /// Arms of its own (`event`: pthread_cond, ...), of which the last is compared with each of the
  /// others; empty: the arms are those of --backends.
  std::span<const char* const> arms;
  u64 first_ops;  ///< size of the sizing run; the runner scales it to the time a sample may take.
                  ///< 0: fixed size
  bool higher_is_better;  ///< compare ops per second (throughput) instead of p50
  /// False: the load never blocks, so that polls > 0 cannot be the proof that an arm differed; that
  /// the library was loaded is then enough.
  bool blocks = true;
  /// False: one sample takes seconds, so that a bench without names, which shall end within two
  /// minutes, leaves it out.
  bool by_default = true;
};

/// Every workload, in the order of the documentation.
std::span<const workload> workloads();

}  // namespace haltpoll::bench
