#include <gtest/gtest.h>

#include <cstring>
#include <haltpoll/cpu/clock.hpp>
#include <haltpoll/cpu/monitor_wait.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace haltpoll::cpu;

#if defined(__x86_64__)
constexpr const char* names[] = {"umwait", "mwaitx", "relax"};
#else
constexpr const char* names[] = {"wfet", "wfe", "relax"};
#endif

const char* lacking(const std::string& name) {
  if (name == "umwait") return "CPU lacks WAITPKG";
  if (name == "mwaitx") return "CPU lacks MONITORX";
  if (name == "wfet") return "CPU lacks FEAT_WFxT";
  if (name == "wfe") return "the kernel has no event stream (HWCAP_EVTSTRM)";
  return "never: needs nothing";
}

TEST(monitor_wait, table_is_complete_and_ends_with_relax) {
  std::vector<std::string> found;
  for (const monitor_wait& way : monitor_waits()) {
    found.push_back(way.name);
    EXPECT_GT(std::strlen(way.description), 0u);
  }
  EXPECT_EQ(found, std::vector<std::string>(std::begin(names), std::end(names)));
  EXPECT_TRUE(monitor_waits().back().supported());
}

TEST(monitor_wait, best_is_the_first_supported) {
  for (const monitor_wait& way : monitor_waits()) {
    if (&way == &best_monitor_wait()) {
      EXPECT_TRUE(way.supported());
      return;
    }
    EXPECT_FALSE(way.supported());
  }
  FAIL() << "best is not in the table";
}

TEST(monitor_wait, forcing_what_is_not_there_changes_nothing) {
  const monitor_wait& before = best_monitor_wait();
  EXPECT_FALSE(force_monitor_wait("abacus"));
  EXPECT_EQ(&best_monitor_wait(), &before);
  for (const monitor_wait& way : monitor_waits()) {
    EXPECT_EQ(force_monitor_wait(way.name), way.supported()) << way.name;
    if (way.supported()) {
      EXPECT_EQ(&best_monitor_wait(), &way);
    }
  }
  EXPECT_TRUE(force_monitor_wait(nullptr));
  EXPECT_EQ(&best_monitor_wait(), &before);
}

TEST(monitor_wait, supported_agrees_with_itself_in_all_threads) {
  std::vector<std::thread> threads;
  std::atomic<unsigned> bits[4] = {};
  for (auto& mine : bits) {
    threads.emplace_back([&mine] {
      unsigned bit = 1, all = 0;
      for (const monitor_wait& way : monitor_waits()) {
        if (way.supported()) all |= bit;
        bit <<= 1;
      }
      mine = all;
    });
  }
  for (std::thread& t : threads) t.join();
  for (auto& other : bits) EXPECT_EQ(other, bits[0]);
}

struct ways : testing::TestWithParam<const char*> {
  void SetUp() override {
    if (!force_monitor_wait(GetParam())) GTEST_SKIP() << "skipped: " << lacking(GetParam());
  }
  void TearDown() override { force_monitor_wait(nullptr); }
};

TEST_P(ways, returns_what_already_differs) {
  const std::atomic<u32> word{7};
  EXPECT_EQ(best_monitor_wait().wait(word, 1, 0, 0), 7u);
  EXPECT_EQ(best_monitor_wait().wait(word, ~0u, 6, haltpoll::core::never), 7u);
}

TEST_P(ways, ends_at_the_deadline) {
  const std::atomic<u32> word{7};
  for (const u64 window_ns : {0u, 1'000u, 20'000u, 400'000u}) {
    const u64 deadline = now_ns() + window_ns;
    EXPECT_EQ(best_monitor_wait().wait(word, 2, 2, deadline), 7u);
    EXPECT_GE(now_ns(), deadline);
  }
}

TEST_P(ways, hands_a_word_back_and_forth) {
  // Every turn is a store that the other must not miss; the word orders the payload, which is not
  // atomic, and ThreadSanitizer watches.
  constexpr u32 turns = 500;
  std::atomic<u32> word{0};
  u64 payload = 0;
  const auto play = [&](u32 parity) {
    for (u32 n = parity; n < turns; n += 2) {
      while (word.load(std::memory_order_acquire) != n) {
        // seen is the value while it is the other's turn
        best_monitor_wait().wait(word, ~0u, n - 1, now_ns() + 1'000'000);
      }
      ++payload;
      word.store(n + 1, std::memory_order_release);
    }
  };
  std::thread other([&] { play(1); });
  play(0);
  other.join();
  EXPECT_EQ(word, turns);
  EXPECT_EQ(payload, turns);
}

INSTANTIATE_TEST_SUITE_P(, ways, testing::ValuesIn(names),
                         [](const auto& i) { return std::string(i.param); });

}  // namespace
