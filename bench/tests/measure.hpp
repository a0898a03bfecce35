#pragma once
// measure: runs one workload in this process, as a worker would, on the first two allowed CPUs.
#include <gtest/gtest.h>
#include <sched.h>

#include <haltpoll/bench/workload.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/all.hpp"

namespace haltpoll::bench::testing {

inline const workload& find(std::string_view name) {
  for (const workload& w : workloads())
    if (name == w.name) return w;
  ADD_FAILURE() << "no workload " << name;
  return workloads().front();
}

inline std::vector<int> allowed_cpus() {
  // Of the whole process: workloads pin the thread that runs them, which is this one.
  static const std::vector<int> cpus = [] {
    std::vector<int> allowed;
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return allowed;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) allowed.push_back(cpu);
    return allowed;
  }();
  return cpus;
}

/// Fails the test and returns an empty sample where there is none.
inline sample measure(std::string_view name, u64 ops, std::string variant = "") {
  job j;
  j.ops = ops;
  j.variant = std::move(variant);
  j.cpu_a = allowed_cpus().front();
  j.cpu_b = allowed_cpus().size() > 1 ? allowed_cpus()[1] : j.cpu_a;
  outcome o = measure(name, j);
  if (const auto* why = std::get_if<std::string>(&o)) {
    ADD_FAILURE() << name << " " << j.variant << ": " << *why;
    return {};
  }
  return std::get<sample>(std::move(o));
}

#define NEEDS_TWO_CPUS()                                   \
  if (haltpoll::bench::testing::allowed_cpus().size() < 2) \
  GTEST_SKIP() << "this machine lets us use one CPU only"

}  // namespace haltpoll::bench::testing
