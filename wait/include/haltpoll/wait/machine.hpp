#pragma once
// machine: everything the primitives ask of the world below them, as one template parameter, so
// that tests can drive every interleaving through the real code (wait/tests/interleaving_test.cpp).
//
// A machine has: `atomic<T>`; `watch` (cpu::preemption_watch's interface); futex_wait, futex_wake,
// now_ns, relax, poll_upper and (optional) poll as below.
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <haltpoll/core/types.hpp>
#include <haltpoll/cpu/clock.hpp>
#include <haltpoll/cpu/monitor_wait.hpp>
#include <haltpoll/cpu/preemption.hpp>
#include <haltpoll/cpu/relax.hpp>

namespace haltpoll::wait {

using core::u32;
using core::u64;

/// The Linux process this code runs in.
struct linux_machine {
  template <class T>
  using atomic = std::atomic<T>;
  using watch = cpu::preemption_watch;

  /// Sleeps while the upper half of `word` is `seen`, until a futex_wake or until now_ns() reaches
  /// `deadline_ns` (core::never: no limit). Returns 0 after a wake, else EAGAIN, EINTR or
  /// ETIMEDOUT. Not a cancellation point.
  static int futex_wait(const std::atomic<u64>& word, u32 seen, u64 deadline_ns) {
    timespec t;
    t.tv_sec = static_cast<time_t>(deadline_ns / 1'000'000'000);
    t.tv_nsec = static_cast<long>(deadline_ns % 1'000'000'000);
    // The bitset form takes an absolute time, on CLOCK_MONOTONIC.
    const long r =
        syscall(SYS_futex, upper_half(word), FUTEX_WAIT_BITSET_PRIVATE, seen,
                deadline_ns == core::never ? nullptr : &t, nullptr, FUTEX_BITSET_MATCH_ANY);
    return r == 0 ? 0 : errno;
  }

  /// Wakes up to `count` sleepers. `word` may be gone already, as its last waiter may have
  /// destroyed it: the kernel only looks for sleepers on the address.
  static void futex_wake(const std::atomic<u64>& word, u32 count) {
    syscall(SYS_futex, upper_half(word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
  }

  static u64 now_ns() { return cpu::now_ns(); }
  static void relax() { cpu::relax(); }

  /// Polls until the upper half of `word` differs from `seen` or `until_ns`; may return early.
  static void poll_upper(const std::atomic<u64>& word, u32 seen, u64 until_ns) {
    cpu::best_monitor_wait().wait(*upper_half(word), ~0u, seen, until_ns);
  }

  /// The same for somebody else's atomic of four bytes, the size that CPUs can wait on.
  template <class T>
  requires(sizeof(std::atomic<T>) == sizeof(u32)) static void poll(const std::atomic<T>& a,
                                                                   u32 seen, u64 until_ns) {
    cpu::best_monitor_wait().wait(reinterpret_cast<const std::atomic<u32>&>(a), ~0u, seen,
                                  until_ns);
  }

 private:
  static const std::atomic<u32>* upper_half(const std::atomic<u64>& word) {
    static_assert(std::endian::native == std::endian::little);
    return reinterpret_cast<const std::atomic<u32>*>(&word) + 1;
  }
};

}  // namespace haltpoll::wait
