#pragma once
// statistics: exact order statistics. Averages are not for comparing: see runner.hpp.
#include <algorithm>
#include <haltpoll/core/types.hpp>
#include <vector>

namespace haltpoll::bench {

using core::u64;

/// The smallest value that `per_mille` of all values do not exceed (nearest rank: always a value
/// that occurred). Reorders `values`, which must not be empty.
inline u64 percentile(std::vector<u64>& values, u64 per_mille) {
  const u64 rank = (values.size() * per_mille + 999) / 1000;
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(rank == 0 ? 0 : rank - 1);
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

/// Middle value, the mean of the two middle ones for an even count; 0 for none.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace haltpoll::bench
