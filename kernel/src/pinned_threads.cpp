#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <haltpoll/kernel/backend.hpp>
#include <thread>

namespace haltpoll::kernel {
namespace {

// Long enough that the CPU is in its halt and not on the way there, when the wake comes; short enough that 32 passes of 64 CPUs take
// less than a second.
constexpr auto asleep = std::chrono::microseconds(300);

bool pin_to(u32 cpu) {
  cpu_set_t* set = CPU_ALLOC(cpu + 1);
  const std::size_t size = CPU_ALLOC_SIZE(cpu + 1);
  CPU_ZERO_S(size, set);
  CPU_SET_S(cpu, size, set);
  const bool done = ::pthread_setaffinity_np(::pthread_self(), size, set) == 0;
  CPU_FREE(set);
  return done;
}

/// One CPU: a thread on it sleeps in a futex, another one on `waker_cpu` wakes it. `turn` is how often it was woken; the
/// sleeper reads it before it sleeps, so no wake is lost, and every wake is waited for.
struct hand_off {
  std::atomic<u32> turn{0}, seen{0};
  static_assert(sizeof(std::atomic<u32>) == sizeof(u32), "a futex word");

  void sleep(u32 times) {
    for (u32 i = 0; i < times; ++i) {
      while (turn.load(std::memory_order_acquire) == i)
        ::syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, i, nullptr, nullptr, 0);
      seen.store(i + 1, std::memory_order_release);
    }
  }
  void wake(u32 times) {
    for (u32 i = 0; i < times; ++i) {
      std::this_thread::sleep_for(asleep);  // this CPU goes idle too, and is woken by its timer
      turn.store(i + 1, std::memory_order_release);
      ::syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
      while (seen.load(std::memory_order_acquire) != i + 1) std::this_thread::sleep_for(asleep);
    }
  }
};

/// Times one CPU; false: this process may not run there.
bool exercise_one(u32 cpu, u32 waker_cpu, u32 times) {
  hand_off h;
  std::atomic<int> allowed{-1};
  std::thread sleeper([&] {
    const bool pinned = pin_to(cpu);
    allowed.store(pinned ? 1 : 0, std::memory_order_release);
    if (pinned) h.sleep(times);
  });
  std::thread waker([&] {
    pin_to(waker_cpu);  // where that is not allowed it wakes from where it is
    while (allowed.load(std::memory_order_acquire) < 0) std::this_thread::yield();
    if (allowed.load(std::memory_order_acquire) == 1) h.wake(times);
  });
  sleeper.join();
  waker.join();
  return allowed.load(std::memory_order_relaxed) == 1;
}

class threads final : public exerciser {
 public:
  std::string exercise(const cpu_list& cpus, u32 times) override {
    u32 reached = 0;
    for (std::size_t i = 0; i < cpus.size(); ++i)
      reached += exercise_one(cpus[i], cpus[(i + 1) % cpus.size()], times) ? 1 : 0;
    return reached == 0 ? "none of the CPUs " + to_string(cpus) + " may be used by this process"
                        : "";
  }
};

}  // namespace

std::unique_ptr<exerciser> pinned_threads() { return std::make_unique<threads>(); }

}  // namespace haltpoll::kernel
