#include "monitored_wait.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace {

using namespace haltpoll::cpu;

constexpr u64 mask = 0x1, seen = 0, written = 0x5;

/// A CPU with a monitor, on a clock that moves only when it sleeps or works. A store may be put
/// before any of its steps.
struct fake_cpu {
  std::atomic<u32> word{0x4};
  u64 time_ns = 1'000;
  bool armed = false;
  bool event = false;  // the armed word was written
  unsigned step = 0;
  unsigned store_at = ~0u;  // step before which another CPU stores
  bool forgets = false;     // the monitor is disarmed by a context switch between arm and sleep
  u64 longest_sleep_ns = ~0ull;  // as IA32_UMWAIT_CONTROL cuts sleeps short
  unsigned spurious = 0;         // sleeps that end at once for no reason
  unsigned sleeps = 0, full_sleeps = 0;
  unsigned sleeps_unarmed = 0;

  u32 look(const std::atomic<u32>& w) {
    before_step();
    return w.load();
  }
  u64 now_ns() {
    before_step();
    return time_ns += 10;
  }
  u64 limit(u64 remaining_ns) { return remaining_ns; }
  u32 arm(const std::atomic<u32>& w) {
    before_step();
    armed = true;
    event = false;
    before_step();  // a store between arming and the look that belongs to it
    return w.load();
  }
  void sleep(u64 limit_ns) {
    before_step();
    ++sleeps;
    if (!armed) ++sleeps_unarmed;
    if (forgets) armed = event = false;
    if (spurious > 0) {
      --spurious;
    } else if (!event) {
      // The other CPU's store, if it is still to come and is seen, ends the sleep in its middle.
      ++full_sleeps;
      time_ns += limit_ns < longest_sleep_ns ? limit_ns : longest_sleep_ns;
    }
    armed = event = false;
  }

  void before_step() {
    if (step++ != store_at) return;
    word = written;
    if (armed) event = true;
  }
};

TEST(monitored_wait, returns_at_once_what_is_there_without_arming) {
  fake_cpu cpu;
  cpu.word = written;
  EXPECT_EQ(monitored_wait(cpu, cpu.word, mask, seen, 0), written);
  EXPECT_EQ(cpu.step, 1u);
  EXPECT_FALSE(cpu.armed);
}

TEST(monitored_wait, loses_no_store_whenever_it_comes) {
  // Steps of one turn: look, time, arm, its look, sleep. Two turns of stores.
  std::set<unsigned> slept;
  for (unsigned at = 0; at < 10; ++at) {
    fake_cpu cpu;
    cpu.store_at = at;
    cpu.longest_sleep_ns = 100;  // so that there is a second turn
    EXPECT_EQ(monitored_wait(cpu, cpu.word, mask, seen, 1'000'000), written) << at;
    // No full sleep begins after the store: in the first turn none at all, in the second the one
    // before it.
    EXPECT_EQ(cpu.full_sleeps, at / 5) << at;
    EXPECT_EQ(cpu.sleeps_unarmed, 0u);
    if (cpu.sleeps) slept.insert(at);
  }
  EXPECT_TRUE(slept.count(4));  // between the look and the sleep: the monitor's event ends it
}

TEST(monitored_wait, a_monitor_that_forgets_costs_one_bounded_sleep) {
  fake_cpu cpu;
  cpu.store_at = 4;
  cpu.forgets = true;
  EXPECT_EQ(monitored_wait(cpu, cpu.word, mask, seen, 5'000), written);
  EXPECT_EQ(cpu.full_sleeps, 1u);
  EXPECT_LE(cpu.time_ns, 5'000u + 10);
}

TEST(monitored_wait, ends_at_the_deadline_with_the_unchanged_value) {
  fake_cpu cpu;
  EXPECT_EQ(monitored_wait(cpu, cpu.word, mask, seen, 5'000), 0x4u);
  EXPECT_EQ(cpu.full_sleeps, 1u);
  EXPECT_EQ(cpu.time_ns, 5'000u + 10);
}

TEST(monitored_wait, a_deadline_in_the_past_sleeps_not_at_all) {
  fake_cpu cpu;
  EXPECT_EQ(monitored_wait(cpu, cpu.word, mask, seen, 999), 0x4u);
  EXPECT_EQ(cpu.sleeps, 0u);
}

TEST(monitored_wait, spurious_wakes_are_slept_again) {
  fake_cpu cpu;
  cpu.spurious = 7;
  EXPECT_EQ(monitored_wait(cpu, cpu.word, mask, seen, 5'000), 0x4u);
  EXPECT_EQ(cpu.sleeps, 8u);
  EXPECT_GE(cpu.time_ns, 5'000u);
}

TEST(monitored_wait, the_kernels_limit_on_a_sleep_is_no_deadline) {
  fake_cpu cpu;
  cpu.longest_sleep_ns = 300;
  EXPECT_EQ(monitored_wait(cpu, cpu.word, mask, seen, 5'000), 0x4u);
  EXPECT_GE(cpu.time_ns, 5'000u);
  EXPECT_GE(cpu.full_sleeps, 10u);
  EXPECT_EQ(cpu.sleeps_unarmed, 0u);
}

TEST(monitored_wait, other_bits_of_the_word_do_not_end_it) {
  fake_cpu cpu;
  cpu.word = 0xfffffffe;
  EXPECT_EQ(monitored_wait(cpu, cpu.word, mask, seen, 5'000), 0xfffffffeu);
  EXPECT_GE(cpu.time_ns, 5'000u);
}

TEST(monitored_wait, ticks_to_sleep) {
  EXPECT_EQ(ticks_to_sleep(10'000, 2'400'000), 24'001u);
  EXPECT_EQ(ticks_to_sleep(0, 2'400'000), 1u);  // never MWAITX's "for ever"
  EXPECT_EQ(ticks_to_sleep(haltpoll::core::never, 2'400'000),
            2'400'001u);                                             // a millisecond, no overflow
  EXPECT_EQ(ticks_to_sleep(haltpoll::core::never, 0), slice_ticks);  // frequency unknown
  EXPECT_EQ(ticks_to_sleep(1, 0), slice_ticks);
}

}  // namespace
