#pragma once
// compare: from the samples of two arms to one ratio, and the proof that the arms differed.
#include <haltpoll/bench/runner.hpp>
#include <span>
#include <string>

namespace haltpoll::bench {

/// Empty if the sample is what its arm promises; else what contradicts it.
std::string disproof(const workload& w, const arm& a, const sample& s);

/// What is compared: operations per second (for an index of parts their geometric mean, so that no
/// part dominates), or the median latency in ns.
double value_of(const workload& w, const sample& s);

/// Candidate against baseline over the rounds in `taken`. A `problem` makes it an error.
comparison compare(const workload& w, const arm& baseline, const arm& candidate,
                   std::span<const result> taken, const std::string& problem);

/// Row by row the median over the rounds of one arm; empty where the workload has no curve.
std::vector<curve_row> median_curve(std::span<const result> taken, const std::string& backend);

}  // namespace haltpoll::bench
