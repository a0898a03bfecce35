#pragma once
// results: what a run of the bench found, as data, as JSON and as a table.
//
// Nothing here measures. The JSON is the contract that the report page and scripts rely on
// (docs/bench-runner.md); its first key is "schema": "haltpoll.bench/1".
#include <haltpoll/bench/machine.hpp>
#include <haltpoll/bench/workload.hpp>
#include <string>
#include <vector>

namespace haltpoll::bench {

/// One arm, one round. With an `error` the sample is no figure.
struct result {
  std::string workload, placement, backend;
  u32 round = 0;
  sample measured;
  std::string error;
};

/// Over the rounds. With 7 rounds the true median lies between the smallest and the largest with
/// 98.4 % confidence (1 - 2 / 2^7, whatever the distribution), which is why low and high are these.
struct spread {
  double median = 0, low = 0, high = 0;
};

/// A candidate arm against the baseline arm of its workload. With an `error` there is no figure.
struct comparison {
  std::string workload, placement, baseline, candidate;
  bool own_arms = false;          ///< the arms belong to the workload; no backend was involved
  bool higher_is_better = false;  ///< the values are operations per second, else p50 in ns
  double baseline_value = 0;      ///< median over the rounds
  double candidate_value = 0;
  spread speedup;              ///< of the ratios taken within a round; above 1: candidate is better
  double baseline_cpu_ns = 0;  ///< CPU time per operation of both sides, median over the rounds
  double candidate_cpu_ns = 0;  ///< "
  double cpu_ratio = 0;         ///< candidate / baseline CPU per operation, median over the rounds
  u64 baseline_polls = 0;       ///< proof that the arms differed: sums over the rounds
  u64 candidate_polls = 0;      ///< "
  u64 candidate_hits = 0;
  /// Interrupts that wake a CPU, per operation, medians; none where a sample has no count.
  std::optional<double> baseline_interrupts, candidate_interrupts;
  std::string error;
};

/// The penalty curve of one arm, medians over the rounds.
struct arm_curve {
  std::string backend;
  std::vector<curve_row> rows;
};

struct report {
  bench::machine machine;
  u32 rounds = 0;
  std::string governor;
  std::vector<result> results;
  std::vector<comparison> comparisons;
  std::vector<arm_curve>
      curves;           ///< `wake` only, baseline first; `curve[]` of the JSON is that one
  bool failed() const;  ///< some comparison or result is an error
};

/// One JSON object, pretty-printed, ending in a newline.
std::string to_json(const report& r);
/// For a terminal: machine, one line per comparison with units, then what went wrong.
std::string to_table(const report& r);

}  // namespace haltpoll::bench
