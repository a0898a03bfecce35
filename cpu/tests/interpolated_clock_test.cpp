#include "interpolated_clock.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace {

using namespace haltpoll::cpu;

/// A machine whose time passes only when it is asked for it, and whose clocks can be made to lie.
struct fake_machine {
  u64 ticks_per_us = 2'400;
  u64 true_ns = 5'000'000'000;
  u64 counter_offset = 77'000;
  u64 stopped_ns = 0;  // by which CLOCK_MONOTONIC is behind
  unsigned monotonic_reads = 0;
  unsigned steps = 0;
  std::function<void(unsigned step)> at_step;  // what an interrupt does between two instructions
  std::atomic<u64> ticks_per_span{0};

  u64 counter() {
    step();
    true_ns += 8;
    return true_ns * ticks_per_us / 1'000 + counter_offset;
  }
  u64 monotonic_ns() {
    step();
    ++monotonic_reads;
    true_ns += 12;
    const u64 read = monotonic();
    true_ns += 12;
    return read;
  }
  u64 monotonic() const { return true_ns - stopped_ns; }

  void step() {
    const unsigned now = steps++;  // what happens takes steps, too
    if (at_step) at_step(now);
  }
};

/// Readings until the line is in use: two measurements and a bit.
u64 warm_up(interpolated_clock& clock, fake_machine& machine) {
  u64 now = 0;
  for (const u64 until = machine.true_ns + 4 * span_ns; machine.true_ns < until;) {
    machine.true_ns += 400;  // the caller's work
    now = clock.now(machine, machine.ticks_per_span);
  }
  return now;
}

TEST(interpolated_clock, begins_with_clock_monotonic_itself) {
  interpolated_clock clock;
  fake_machine machine;
  for (unsigned i = 1; i <= 100; ++i) {
    const u64 before = machine.monotonic();
    const u64 now = clock.now(machine, machine.ticks_per_span);
    EXPECT_GE(now, before);
    EXPECT_LE(now, machine.monotonic());
    EXPECT_EQ(machine.monotonic_reads, i);
  }
  EXPECT_EQ(machine.ticks_per_span, 0u);
}

TEST(interpolated_clock, then_reads_it_once_per_span) {
  interpolated_clock clock;
  fake_machine machine;
  warm_up(clock, machine);
  machine.monotonic_reads = 0;
  for (u64 until = machine.true_ns + 100 * span_ns; machine.true_ns < until;)
    clock.now(machine, machine.ticks_per_span);
  EXPECT_GE(machine.monotonic_reads, 99u);
  EXPECT_LE(machine.monotonic_reads, 102u);
}

TEST(interpolated_clock, another_thread_starts_from_the_measured_frequency) {
  interpolated_clock first, second;
  fake_machine machine;
  warm_up(first, machine);
  machine.monotonic_reads = 0;
  for (int i = 0; i < 100; ++i) second.now(machine, machine.ticks_per_span);
  EXPECT_EQ(machine.monotonic_reads, 1u);
}

TEST(interpolated_clock, measures_every_frequency_and_stays_within_a_microsecond) {
  for (const u64 ticks_per_us : {24u, 50u, 62u, 1'000u, 1'999u, 2'400u, 5'100u}) {
    interpolated_clock clock;
    fake_machine machine;
    machine.ticks_per_us = ticks_per_us;
    warm_up(clock, machine);
    for (int i = 0; i < 200'000; ++i) {
      const u64 earliest = machine.monotonic();
      const u64 now = clock.now(machine, machine.ticks_per_span);
      ASSERT_GE(now + 1'000, earliest) << ticks_per_us;
      ASSERT_LE(now, machine.monotonic() + 1'000) << ticks_per_us;
    }
    EXPECT_NEAR(static_cast<double>(machine.ticks_per_span),
                static_cast<double>(ticks_per_us) * 1'000,
                static_cast<double>(ticks_per_us) *
                    0.2)  // 200 ppm: two ticks of the coarsest counter are 83
        << ticks_per_us;
  }
}

TEST(interpolated_clock, being_interrupted_anywhere_costs_no_accuracy) {
  std::mt19937_64 random(1);
  interpolated_clock clock;
  fake_machine machine;
  machine.at_step = [&](unsigned) {
    if (random() % 50 == 0) machine.true_ns += random() % 3'000'000;
  };
  u64 last = 0;
  for (int i = 0; i < 300'000; ++i) {
    const u64 earliest = machine.monotonic();
    const u64 now = clock.now(machine, machine.ticks_per_span);
    ASSERT_GE(now, last);
    ASSERT_GE(now + 1'000, earliest) << i;
    ASSERT_LE(now, machine.monotonic() + 1'000) << i;
    last = now;
  }
  EXPECT_GT(machine.ticks_per_span, 0u);
}

TEST(interpolated_clock, follows_clock_monotonic_slewed_by_500_ppm) {
  interpolated_clock clock;
  fake_machine machine;
  warm_up(clock, machine);
  u64 slewed = 0;
  const u64 start = machine.true_ns;
  for (int i = 0; i < 1'000'000; ++i) {
    machine.stopped_ns += (machine.true_ns - start) / 2'000 - slewed;
    slewed = (machine.true_ns - start) / 2'000;
    const u64 earliest = machine.monotonic();
    const u64 now = clock.now(machine, machine.ticks_per_span);
    ASSERT_GE(now + 1'500, earliest);
    ASSERT_LE(now, machine.monotonic() + 1'500);
  }
}

struct upset {
  const char* name;
  void (*happen)(fake_machine&);
};

const upset upsets[] = {
    {"suspended: only the counter ran",
     [](fake_machine& m) {
       m.true_ns += 3'600'000'000'000;
       m.stopped_ns += 3'600'000'000'000;
     }},
    {"suspended: the counter began again",
     [](fake_machine& m) { m.counter_offset = 0 - m.true_ns * m.ticks_per_us / 1'000; }},
    {"suspended for less than a span",
     [](fake_machine& m) {
       m.true_ns += 600'000;
       m.stopped_ns += 600'000;
     }},
    {"another CPU, its counter 3 us behind",
     [](fake_machine& m) { m.counter_offset -= 3 * m.ticks_per_us; }},
    {"another CPU, its counter 3 us ahead",
     [](fake_machine& m) { m.counter_offset += 3 * m.ticks_per_us; }},
    {"migrated to a counter of half the frequency", [](fake_machine& m) { m.ticks_per_us /= 2; }},
    {"migrated to a counter of twice the frequency", [](fake_machine& m) { m.ticks_per_us *= 2; }},
    {"nobody asked for an hour", [](fake_machine& m) { m.true_ns += 3'600'000'000'000; }},
};

TEST(interpolated_clock, steps_back_for_no_upset_and_recovers) {
  for (const upset& u : upsets) {
    for (unsigned at = 0; at < 200; at += 7) {  // where in the line, and in the call, it happens
      interpolated_clock clock;
      fake_machine machine;
      u64 last = warm_up(clock, machine);
      const unsigned when = machine.steps + at;
      machine.at_step = [&](unsigned step) {
        if (step == when) u.happen(machine);
      };
      // A line to expire, a measurement spoilt, two that agree, and a line to catch up.
      u64 until = machine.true_ns + 6 * span_ns;
      bool happened = false;
      while (machine.true_ns < until) {
        machine.true_ns += 400;  // the caller's work
        const u64 now = clock.now(machine, machine.ticks_per_span);
        ASSERT_GE(now, last) << u.name;
        last = now;
        if (!happened && machine.steps > when) {
          happened = true;
          until = machine.true_ns + 6 * span_ns;
        }
      }
      ASSERT_TRUE(happened);
      const u64 earliest = machine.monotonic();
      const u64 now = clock.now(machine, machine.ticks_per_span);
      EXPECT_GE(now + 1'000, earliest) << u.name;
      EXPECT_LE(now, machine.monotonic() + 1'000) << u.name;
    }
  }
}

TEST(interpolated_clock, a_signal_handler_may_read_it_at_any_point) {
  // 60,000 readings cover two re-readings; every machine call of those and of plain readings is
  // tried.
  for (unsigned at = 0; at < 40; ++at) {
    interpolated_clock clock;
    fake_machine machine;
    warm_up(clock, machine);
    // Go to the end of the line, so that the next readings draw a new one.
    const unsigned reads = machine.monotonic_reads;
    u64 last = 0;
    while (machine.monotonic_reads == reads) last = clock.now(machine, machine.ticks_per_span);
    machine.true_ns += span_ns - 100;
    const unsigned when = machine.steps + at;
    u64 in_handler = 0;
    machine.at_step = [&](unsigned step) {
      if (step != when) return;
      for (int i = 0; i < 3; ++i) {
        const u64 now = clock.now(machine, machine.ticks_per_span);
        EXPECT_GE(now, in_handler);
        EXPECT_GE(now, last);
        in_handler = now;
        machine.true_ns += 300'000;
      }
    };
    // The interrupted call may return what it had read before the handler ran; no later call may.
    bool interrupted = false;
    for (int i = 0; i < 100; ++i) {
      const bool already = interrupted;
      interrupted = in_handler != 0;
      const u64 earliest = machine.monotonic();
      const u64 now = clock.now(machine, machine.ticks_per_span);
      EXPECT_GE(now, last) << at;
      if (already) {
        EXPECT_GE(now, in_handler) << at;
      }
      EXPECT_GE(now + 1'000, earliest) << at;
      EXPECT_LE(now, machine.monotonic() + 1'000) << at;
      last = now;
    }
    ASSERT_TRUE(interrupted);
  }
}

TEST(interpolated_clock, without_the_counter_does_not_step_back_and_forgets_the_line) {
  interpolated_clock clock;
  fake_machine machine;
  u64 last = warm_up(clock, machine);
  for (int i = 0; i < 1'000; ++i) {
    const u64 reads = machine.monotonic_reads;
    const u64 without = clock.now_without_counter(machine);
    EXPECT_GE(without, last);
    const u64 with = clock.now(machine, machine.ticks_per_span);
    EXPECT_GE(with, without);
    EXPECT_EQ(machine.monotonic_reads, reads + 2);
    last = with;
  }
}

}  // namespace
