#pragma once
// back_ends: runs a test once per way of waiting on an address (cpu::monitor_waits()) that this
// build knows; those that the machine lacks are skipped.
#include <gtest/gtest.h>

#include <atomic>
#include <haltpoll/cpu/monitor_wait.hpp>
#include <haltpoll/wait/governors.hpp>
#include <haltpoll/wait/stats.hpp>
#include <string>
#include <thread>
#include <vector>

namespace test {

using haltpoll::core::u32;
using haltpoll::core::u64;

class back_end : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!haltpoll::cpu::force_monitor_wait(GetParam())) {
      // A single way cannot be forced, and need not be.
      if (haltpoll::cpu::best_monitor_wait().name != std::string(GetParam())) {
        GTEST_SKIP() << "this machine has no " << GetParam();
      }
    }
  }
  void TearDown() override { haltpoll::cpu::force_monitor_wait(nullptr); }
};

inline std::vector<const char*> back_end_names() {
  std::vector<const char*> names;
  for (const auto& way : haltpoll::cpu::monitor_waits()) names.push_back(way.name);
  return names;
}

#define HALTPOLL_FOR_ALL_BACK_ENDS(suite)                                          \
  INSTANTIATE_TEST_SUITE_P(ways, suite, testing::ValuesIn(test::back_end_names()), \
                           [](const auto& way) { return std::string(way.param); })

/// Always polls, for as long as any governor may; never polls.
using always = haltpoll::wait::fixed_governor<haltpoll::core::fixed::params{1'000'000}>;
using never_polls = haltpoll::wait::fixed_governor<haltpoll::core::fixed::params{0}>;

/// Lets another thread get to where it waits. Tests stay right however long that takes: they only
/// test less then.
inline void let_others_run() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || defined(__aarch64__)
inline constexpr int many = 20'000;  // instrumented or emulated
#else
inline constexpr int many = 1'000'000;
#endif

}  // namespace test
