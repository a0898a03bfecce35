// The ways to wait on an address that x86-64 CPUs have.
#include <haltpoll/cpu/monitor_wait.hpp>
#include <haltpoll/cpu/x86_64.hpp>

#include "monitored_wait.hpp"

namespace haltpoll::cpu {
namespace {

enum : u32 { waitpkg = 1u << 0, mwaitx = 1u << 1, asked = 1u << 31 };

// CPUID traps, so it is asked once; threads that race find the same.
u32 features() {
  static constinit std::atomic<u32> found{0};
  u32 bits = found.load(std::memory_order_relaxed);
  if (bits) return bits;
  bits = asked;
  if (x86_64::cpuid(0).eax >= 7 && (x86_64::cpuid(7).ecx >> 5 & 1)) bits |= waitpkg;
  if (x86_64::cpuid(0x80000001).ecx >> 29 & 1) bits |= mwaitx;
  found.store(bits, std::memory_order_relaxed);
  return bits;
}

struct umwait_instructions : looking {
  static u64 limit(u64 remaining_ns) {
    return ticks_to_sleep(remaining_ns, counter_ticks_per_ms());
  }
  static u32 arm(const std::atomic<u32>& word) {
    x86_64::umonitor(&word);
    return look(word);
  }
  static void sleep(u64 ticks) { x86_64::umwait(x86_64::rdtsc() + ticks); }
};

struct mwaitx_instructions : looking {
  static u64 limit(u64 remaining_ns) {
    return ticks_to_sleep(remaining_ns, counter_ticks_per_ms());
  }
  static u32 arm(const std::atomic<u32>& word) {
    x86_64::monitorx(&word);
    return look(word);
  }
  // A millisecond of ticks fits 32 bits up to 4000 GHz.
  static void sleep(u64 ticks) { x86_64::mwaitx(static_cast<u32>(ticks)); }
};

constexpr monitor_wait ways[] = {
    {"umwait", "UMONITOR and UMWAIT until the TSC deadline (WAITPKG)",
     [] { return (features() & waitpkg) != 0; }, wait_with<umwait_instructions>},
    {"mwaitx", "MONITORX and MWAITX with its timer (AMD)",
     [] { return (features() & mwaitx) != 0; }, wait_with<mwaitx_instructions>},
    {"relax", "a polling loop with PAUSE", always, wait_relax},
};

}  // namespace

std::span<const monitor_wait> monitor_waits() { return ways; }

}  // namespace haltpoll::cpu
