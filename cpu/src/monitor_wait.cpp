#include <haltpoll/cpu/clock.hpp>
#include <haltpoll/cpu/monitor_wait.hpp>
#include <haltpoll/cpu/relax.hpp>

namespace haltpoll::cpu {
namespace {

u32 wait_relax(const std::atomic<u32>& word, u32 mask, u32 seen, u64 deadline_ns) {
  for (;;) {
    u32 v = 0;
    for (int i = 0; i < 32; ++i) {
      v = word.load(std::memory_order_acquire);
      if ((v & mask) != seen) return v;
      relax();
    }
    if (now_ns() >= deadline_ns) return v;
  }
}

constexpr monitor_wait ways[] = {{"relax", "polling loop", [] { return true; }, wait_relax}};

}  // namespace

std::span<const monitor_wait> monitor_waits() { return ways; }
const monitor_wait& best_monitor_wait() { return ways[0]; }
bool force_monitor_wait(const char*) { return false; }

}  // namespace haltpoll::cpu
