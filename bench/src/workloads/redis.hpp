#pragma once
// redis: reading what redis-benchmark --csv prints.
#include <haltpoll/bench/workload.hpp>
#include <string>

namespace haltpoll::bench {

/// Fills wall, mean, p50 and p99 for s.ops operations from the line of the GET test; false if there
/// is none. redis-benchmark's latencies have a resolution of 1 us; its rate divides by a total in
/// whole ms.
bool read_redis_csv(const std::string& csv, sample& s);

}  // namespace haltpoll::bench
