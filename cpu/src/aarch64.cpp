// The ways to wait on an address that arm64 CPUs have.
#include <asm/hwcap.h>
#include <errno.h>
#include <sys/auxv.h>

#include <haltpoll/cpu/aarch64.hpp>
#include <haltpoll/cpu/monitor_wait.hpp>

#include "monitored_wait.hpp"

namespace haltpoll::cpu {
namespace {

// Not every libc's <asm/hwcap.h> has it.
constexpr unsigned long hwcap2_wfxt = 1ul << 31;

bool auxv_bit(unsigned long type, unsigned long bit) {
  const int saved = errno;  // ENOENT where the kernel is older than AT_HWCAP2
  const bool set = (getauxval(type) & bit) != 0;
  errno = saved;
  return set;
}

// The kernel's event stream wakes WFE at 10 kHz, with the period rounded to a power of two of the
// counter's ticks: up to 133 us. With less than that left WFE could outlast the deadline, so the
// rest is polled.
constexpr u64 event_stream_period_ns = 150'000;

struct monitored : looking {
  static u32 arm(const std::atomic<u32>& word) {
    return aarch64::load_exclusive(reinterpret_cast<const volatile u32*>(&word));
  }
};

struct wfet_instructions : monitored {
  static u64 limit(u64 remaining_ns) {
    return aarch64::cntvct() + ticks_to_sleep(remaining_ns, counter_ticks_per_ms());
  }
  static void sleep(u64 deadline_ticks) { aarch64::wfet(deadline_ticks); }
};

struct wfe_instructions : monitored {
  static bool limit(u64 remaining_ns) { return remaining_ns >= event_stream_period_ns; }
  static void sleep(bool event_comes_in_time) {
    if (event_comes_in_time) {
      aarch64::wfe();
    } else {
      relax();
    }
  }
};

constexpr monitor_wait ways[] = {
    {"wfet", "LDAXR and WFET until the counter's deadline (FEAT_WFxT)",
     [] { return auxv_bit(AT_HWCAP2, hwcap2_wfxt); }, wait_with<wfet_instructions>},
    {"wfe", "LDAXR and WFE, woken by the kernel's event stream at the latest",
     [] { return auxv_bit(AT_HWCAP, HWCAP_EVTSTRM); }, wait_with<wfe_instructions>},
    {"relax", "a polling loop with YIELD", always, wait_relax},
};

}  // namespace

std::span<const monitor_wait> monitor_waits() { return ways; }

}  // namespace haltpoll::cpu
