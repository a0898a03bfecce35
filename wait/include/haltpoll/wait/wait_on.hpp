#pragma once
// wait_on: std::atomic::wait and notify, with a poll before the sleep, for atomics one already has.
//
// Contract: as std::atomic::wait. wait_on(a, old) returns once `a` holds a value of another
// representation than `old`, having loaded it with `order`. Who changes `a` must call notify_one(a)
// or notify_all(a) of THIS header afterwards: std's would not find our sleepers, nor ours std's. No
// notify after the change is lost; a change without one may go unnoticed, and so may a value that
// was there for a moment only (ABA). Only lock-free atomics: others cannot be polled.
//
// Atomics have no room for waiters. They are kept in a table of wait_words hashed by address (16
// KiB per process, no allocation), as libstdc++ does. Sleepers of other atomics in the same row
// wake for nothing and sleep again; as a row does not know which of its sleepers waits for which
// atomic, notify_one() wakes all of a row as notify_all() does. Poll and first looks are on the
// atomic itself, so that a change is seen before the notify. One waiter polls per row. Where one
// object is waited for a lot, `event` or `semaphore` costs less. The governor's state is per row.
//
// Memory ordering: wait_on loads the row's word (acquire), then `a`, then announces itself by a
// compare-exchange from that very word. A notify is a release add on the word after the change of
// `a`: if it came before the load, the change is seen in `a`; if between, the compare-exchange
// fails; if after, it finds the sleeper, see wait_word.hpp. So `a` may be changed with any order,
// and no fence is needed between the change and the notify.
#include <bit>
#include <cstdint>
#include <cstring>
#include <haltpoll/wait/deadline.hpp>
#include <haltpoll/wait/governors.hpp>
#include <haltpoll/wait/stats.hpp>
#include <haltpoll/wait/wait_word.hpp>

namespace haltpoll::wait {

/// The table of sleepers. One per combination of parameters: waiters and notifiers must agree.
template <class Governor = haltpoll_governor<>, class Stats = no_stats,
          class Machine = linux_machine>
class basic_atomic_waits {
  using word = wait_word<Governor, Stats, Machine>;

 public:
  static constexpr u32 rows = 256;

  template <class Atomic>
  static bool wait(const Atomic& a, typename Atomic::value_type old, std::memory_order order,
                   u64 deadline) {
    static_assert(Atomic::is_always_lock_free, "haltpoll: only lock-free atomics can be polled");
    return row(&a).wait(condition<Atomic>{a, old, order}, deadline);
  }

  static void notify(const volatile void* a) {
    word& r = row(a);
    const u64 before = r.word().fetch_add(word::one, std::memory_order_release);
    if ((before & word::sleepers) != 0) r.wake(~0u >> 1);
  }

  static const Stats& stats(const volatile void* a) { return row(a).stats(); }
  /// Whether a waiter polls in the row of `a` right now; for tests and diagnosis.
  static bool polled(const volatile void* a) {
    return (row(a).word().load(std::memory_order_relaxed) & word::polling) != 0;
  }

 private:
  template <class Atomic>
  struct condition {
    using T = typename Atomic::value_type;
    const Atomic& a;
    T old;
    std::memory_order order;

    bool ready_elsewhere() const {
      const T now = a.load(order);
      return std::memcmp(&now, &old, sizeof(T)) != 0;
    }
    bool ready(u64) const { return ready_elsewhere(); }
    u64 taken(u64 w) const { return w; }
    void poll(const typename word::atomic_word&, u64 until_ns) const {
      if constexpr (requires(u32 seen) { Machine::poll(a, seen, until_ns); }) {
        Machine::poll(a, std::bit_cast<u32>(old), until_ns);
      } else {
        // As often as a clock reading costs as much as two PAUSE.
        do {
          for (u32 i = 0; i < first_looks; ++i) {
            if (ready_elsewhere()) return;
            Machine::relax();
          }
        } while (Machine::now_ns() < until_ns);
      }
    }
  };

  static inline constinit word table_[rows];

  static word& row(const volatile void* a) {
    // Fibonacci hashing: addresses differ in their middle bits.
    const u64 h = reinterpret_cast<std::uintptr_t>(a) * 0x9e37'79b9'7f4a'7c15ULL;
    return table_[h >> 56];
  }
};

/// Waits until `a` no longer holds `old`.
template <class T>
void wait_on(const std::atomic<T>& a, typename std::atomic<T>::value_type old,
             std::memory_order order = std::memory_order_seq_cst) {
  basic_atomic_waits<>::wait(a, old, order, core::never);
}

/// The same until `at` or for `d`; false where it still did.
template <class T, class Duration>
bool wait_on_until(const std::atomic<T>& a, typename std::atomic<T>::value_type old,
                   std::chrono::time_point<std::chrono::steady_clock, Duration> at,
                   std::memory_order order = std::memory_order_seq_cst) {
  return basic_atomic_waits<>::wait(a, old, order, deadline_ns(at));
}
template <class T, class Rep, class Period>
bool wait_on_for(const std::atomic<T>& a, typename std::atomic<T>::value_type old,
                 std::chrono::duration<Rep, Period> d,
                 std::memory_order order = std::memory_order_seq_cst) {
  return basic_atomic_waits<>::wait(a, old, order, deadline_after_ns(cpu::now_ns(), d));
}

/// Wakes the waiters of `a`: at least one, and all.
template <class T>
void notify_one(const std::atomic<T>& a) {
  basic_atomic_waits<>::notify(&a);
}
template <class T>
void notify_all(const std::atomic<T>& a) {
  basic_atomic_waits<>::notify(&a);
}

}  // namespace haltpoll::wait
