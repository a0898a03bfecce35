// A host that takes CPUs away, as texts of /proc/stat.
#include <gtest/gtest.h>

#include <haltpoll/core/spec.hpp>
#include <haltpoll/kernel/guards.hpp>

namespace haltpoll::kernel {
namespace {

constexpr u64 hard_cap_ns = core::spec::hard_cap_ns;

class machine {
 public:
  explicit machine(u32 cpus) : records(cpus), stolen_(cpus), total_(cpus), online_(cpus, true) {
    apply({}, {}, records);
    tick(5, std::vector<u32>(cpus));  // only remembers
  }
  /// A second of 100 ticks on each CPU, of which `percent[cpu]` are stolen.
  void tick(u32 limit_percent, const std::vector<u32>& percent) {
    std::string text = "cpu  1 2 3 4 5 6 7 8 9 10\n";
    for (std::size_t cpu = 0; cpu < percent.size(); ++cpu) {
      total_[cpu] += 100;
      stolen_[cpu] += percent[cpu];
      if (!online_[cpu]) continue;
      // Guest times are contained in user and must not count twice.
      text += "cpu" + std::to_string(cpu) + " 0 0 0 " + std::to_string(total_[cpu] - stolen_[cpu]) +
              " 0 0 0 " + std::to_string(stolen_[cpu]) + " 7777 7777\n";
    }
    text += "intr 1 2 3\ncpu0 no more\n";
    guard_.tick(text, records, limit_percent);
  }
  void set_online(u32 cpu, bool online) { online_[cpu] = online; }
  void reset_counters(u32 cpu) { total_[cpu] = stolen_[cpu] = 0; }
  steal_guard& guard() { return guard_; }
  std::vector<cpu_record> records;

 private:
  steal_guard guard_;
  std::vector<u64> stolen_, total_;
  std::vector<bool> online_;
};

TEST(steal, halves_down_to_nothing_and_only_where_it_is_stolen) {
  machine m(2);
  u64 expected_ns = hard_cap_ns;
  for (int second = 0; second < 12; ++second) {
    m.tick(5, {6, 0});
    expected_ns = expected_ns / 2 < 1000 ? 0 : expected_ns / 2;
    EXPECT_EQ(m.records[0].window_cap_ns, expected_ns);
    EXPECT_EQ(m.records[0].guards, guard::steal);
  }
  EXPECT_EQ(m.records[0].window_cap_ns, 0U);
  EXPECT_EQ(m.records[0].steal_permille, 60U);
  EXPECT_EQ(m.records[1].window_cap_ns, hard_cap_ns);
  EXPECT_EQ(m.records[1].guards, 0U);
}

TEST(steal, at_the_limit_nothing_changes) {
  machine m(1);
  m.tick(5, {6});
  const u64 cap_ns = m.records[0].window_cap_ns;
  for (int second = 0; second < 30; ++second) m.tick(5, {5});
  EXPECT_EQ(m.records[0].window_cap_ns, cap_ns);
  EXPECT_EQ(m.records[0].steal_permille, 50U);
}

TEST(steal, doubles_after_ten_calm_seconds_in_a_row_up_to_the_hard_cap) {
  machine m(1);
  for (int second = 0; second < 12; ++second) m.tick(5, {50});
  for (int second = 0; second < 9; ++second) m.tick(5, {0});
  m.tick(5, {3});  // above half the limit: the count begins again
  for (int second = 0; second < 9; ++second) m.tick(5, {2});
  EXPECT_EQ(m.records[0].window_cap_ns, 0U);
  m.tick(5, {0});  // the tenth
  EXPECT_EQ(m.records[0].window_cap_ns, 0U);
  for (u64 expected_ns = 1000; expected_ns < hard_cap_ns; expected_ns *= 2) {
    m.tick(5, {0});
    EXPECT_EQ(m.records[0].window_cap_ns, expected_ns);
    EXPECT_EQ(m.records[0].guards, guard::steal);
  }
  m.tick(5, {0});
  EXPECT_EQ(m.records[0].window_cap_ns, hard_cap_ns);
  EXPECT_EQ(m.records[0].guards, 0U);
}

TEST(steal, limit_zero_lifts_the_caps_and_still_measures) {
  machine m(1);
  m.tick(5, {90});
  m.records[0].guards |= guard::cpu_list;
  m.tick(0, {90});
  EXPECT_EQ(m.records[0].window_cap_ns, hard_cap_ns);
  EXPECT_EQ(m.records[0].guards, guard::cpu_list);  // the others' bits are theirs
  EXPECT_EQ(m.records[0].steal_permille, 900U);
}

TEST(steal, the_first_look_and_the_first_after_offline_decide_nothing) {
  machine m(2);
  m.set_online(1, false);
  for (int second = 0; second < 3; ++second) m.tick(5, {0, 90});
  m.set_online(1, true);
  m.tick(5, {0, 90});
  EXPECT_EQ(m.records[1].window_cap_ns, hard_cap_ns);
  m.tick(5, {0, 90});
  EXPECT_EQ(m.records[1].window_cap_ns, hard_cap_ns / 2);
}

TEST(steal, counters_that_step_back_decide_nothing) {
  machine m(1);
  m.tick(5, {0});
  m.reset_counters(0);
  m.tick(5, {90});
  EXPECT_EQ(m.records[0].window_cap_ns, hard_cap_ns);
  m.tick(5, {90});
  EXPECT_EQ(m.records[0].window_cap_ns, hard_cap_ns / 2);
}

TEST(steal, texts_that_are_no_proc_stat_change_nothing) {
  machine m(1);
  for (const char* text : {"", "cpu", "cpu0", "cpu0 1 2 3", "cpux 1 2 3 4 5 6 7 8", "nonsense\n",
                           "cpu7 1 2 3 4 5 6 7 8\n", "cpu-1 1 2 3 4 5 6 7 8\n"})
    m.guard().tick(text, m.records, 5);
  EXPECT_EQ(m.records[0].window_cap_ns, hard_cap_ns);
  EXPECT_EQ(m.records[0].guards, 0U);
}

}  // namespace
}  // namespace haltpoll::kernel
