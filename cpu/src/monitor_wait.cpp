#include <string.h>

#include <haltpoll/cpu/monitor_wait.hpp>

#include "monitored_wait.hpp"

namespace haltpoll::cpu {
namespace {

std::atomic<const monitor_wait*> forced{nullptr};

}  // namespace

u32 wait_relax(const std::atomic<u32>& word, u32 mask, u32 seen, u64 deadline_ns) {
  for (;;) {
    u32 value = 0;
    // A clock reading is half a PAUSE here (12 ns and 28 ns); eight between keep it under a tenth
    // of the loop and the overshoot under a microsecond even where PAUSE takes 140 cycles.
    for (int i = 0; i < 8; ++i) {
      value = word.load(std::memory_order_acquire);
      if ((value & mask) != seen) return value;
      relax();
    }
    if (now_ns() >= deadline_ns) return value;
  }
}

const monitor_wait& best_monitor_wait() {
  if (const monitor_wait* way = forced.load(std::memory_order_relaxed)) return *way;
  for (const monitor_wait& way : monitor_waits()) {
    if (way.supported()) return way;
  }
  __builtin_unreachable();  // the last one always is
}

bool force_monitor_wait(const char* name) {
  if (!name) {
    forced.store(nullptr, std::memory_order_relaxed);
    return true;
  }
  for (const monitor_wait& way : monitor_waits()) {
    if (strcmp(way.name, name) != 0 || !way.supported()) continue;
    forced.store(&way, std::memory_order_relaxed);
    return true;
  }
  return false;
}

}  // namespace haltpoll::cpu
