#pragma once
// monitored_wait: the protocol that all ways to wait on an address share: look, check the time, arm
// the monitor, look again, sleep. The instructions are a template parameter, so that tests can put
// a store between any two steps.
//
// Why no store is lost: it comes before the second look, which sees it, or after arming, and then
// sleep() returns at once. Where the monitor forgets (a context switch in between), the bound given
// to sleep() still holds.
#include <atomic>
#include <haltpoll/core/types.hpp>
#include <haltpoll/cpu/clock.hpp>
#include <haltpoll/cpu/relax.hpp>

#include "counter_trust.hpp"

namespace haltpoll::cpu {

/// `Instructions` has look(word), arm(word) (which looks too), now_ns(), limit(remaining_ns) (in
/// whatever unit sleep() takes), and sleep(limit), which may return early. arm() and sleep() stand
/// next to each other: on arm64 any store of our own in between may disarm the monitor.
template <class Instructions>
u32 monitored_wait(Instructions& cpu, const std::atomic<u32>& word, u32 mask, u32 seen,
                   u64 deadline_ns) {
  for (;;) {
    const u32 value = cpu.look(word);
    if ((value & mask) != seen) return value;
    const u64 now = cpu.now_ns();
    if (now >= deadline_ns) return value;
    const auto limit = cpu.limit(deadline_ns - now);
    if ((cpu.arm(word) & mask) == seen) cpu.sleep(limit);
  }
}

/// What every real set of instructions has in common.
struct looking {
  static u32 look(const std::atomic<u32>& word) { return word.load(std::memory_order_acquire); }
  static u64 now_ns() { return cpu::now_ns(); }
};

/// As an entry of the table.
template <class Instructions>
u32 wait_with(const std::atomic<u32>& word, u32 mask, u32 seen, u64 deadline_ns) {
  Instructions cpu;
  return monitored_wait(cpu, word, mask, seen, deadline_ns);
}

/// Sleeping without knowing the counter's frequency is done in slices of this many ticks, and the
/// deadline overshot by one at most. CPUs with a timed wait count at 1 GHz or more (x86 with
/// WAITPKG or MWAITX; arm64 from Armv8.6 on), which makes it 4 us: long beside the 20 ns of the
/// clock reading between two slices.
inline constexpr u64 slice_ticks = 4'096;

/// One sleep lasts this long at most, so that a frequency measured across a suspend cannot hold
/// anybody.
inline constexpr u64 longest_sleep_ns = 1'000'000;

/// Ticks to sleep; at least 1, because MWAITX takes 0 for ever.
constexpr u64 ticks_to_sleep(u64 remaining_ns, u64 ticks_per_ms) {
  if (ticks_per_ms == 0) return slice_ticks;
  const u64 ns = remaining_ns < longest_sleep_ns ? remaining_ns : longest_sleep_ns;
  return ns * ticks_per_ms / 1'000'000 + 1;
}

/// The way that needs nothing of the CPU; the last entry of every architecture's table.
u32 wait_relax(const std::atomic<u32>& word, u32 mask, u32 seen, u64 deadline_ns);
inline bool always() { return true; }

}  // namespace haltpoll::cpu
