#pragma once
// all: what the workloads in the table of workloads.cpp do: one entry point or more per file beside
// this one. Linked into the worker and the tests only.
#include <array>
#include <haltpoll/bench/workload.hpp>
#include <haltpoll/core/spec.hpp>
#include <string_view>

namespace haltpoll::bench {

outcome run_pipe(const job& j);
outcome run_ctxsw(const job& j);
outcome run_tcp(const job& j);
outcome run_udp(const job& j);
outcome run_unix(const job& j);
outcome run_epoll(const job& j);
outcome run_messaging(const job& j);
outcome run_redis(const job& j);

outcome run_event(const job& j);
outcome run_wake(const job& j);
outcome run_throughput(const job& j);
outcome run_idle(const job& j);
outcome run_decide(const job& j);

/// Runs a measurement of the workload of this name.
outcome measure(std::string_view workload, const job& j);

// Arms of their own: each is compared with the last, which is ours.
inline constexpr const char* event_arms[] = {"raw",  "pthread_cond", "std_atomic_wait",
                                             "absl", "tbb",          "wait"};
inline constexpr const char* wake_arms[] = {"off", "wait"};
inline constexpr auto decide_arms = [] {  // every governor there is
  std::array<const char*, std::size(core::spec::names)> governors{};
  for (std::size_t i = 0; i < governors.size(); ++i) governors[i] = core::spec::names[i].text;
  return governors;
}();

}  // namespace haltpoll::bench
