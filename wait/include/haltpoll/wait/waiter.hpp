#pragma once
// waiter: an eventcount with a polling flag. Lets a lock-free structure block: waiters wait for any
// condition over other memory, notifiers say that it may have changed.
//
//     consumer: for (;;) { if (queue.pop(x)) break; auto key = w.prepare();
//                          if (queue.pop(x)) break; w.wait(key); }
//     producer: queue.push(x); w.notify_one();
//
// Contract: a notify that follows (in the word's modification order) a prepare() ends the wait()
// with its key; notify_one() at least one such wait, notify_all() all of them. What the notifier
// wrote before is seen after prepare() or wait() return. wait() may return for a notify that was
// meant for another: check the condition again. A wait that sleeps through exactly 2^32 notifies
// between prepare() and wait() would miss them.
//
// A notify makes no system call unless somebody sleeps; notify_one() none either where one waiter
// polls. One waiter polls at a time. No allocation, no thread; not for several processes.
//
// Memory ordering: prepare() is an acquire load, notify a release add on the same word, see
// wait_word.hpp. A condition read as false after prepare() was read before the notifier's add, so
// the value has yet to move away from the key, and both the compare-exchange that announces a
// sleeper and the kernel compare it.
#include <haltpoll/wait/deadline.hpp>
#include <haltpoll/wait/governors.hpp>
#include <haltpoll/wait/stats.hpp>
#include <haltpoll/wait/wait_word.hpp>

namespace haltpoll::wait {

template <class Governor = haltpoll_governor<>, class Stats = no_stats,
          class Machine = linux_machine>
class basic_waiter {
  using word = wait_word<Governor, Stats, Machine>;

 public:
  using key = u32;

  constexpr basic_waiter() = default;

  /// Starts a wait. Check the condition afterwards, then wait() or simply forget the key.
  key prepare() const { return word::value(word_.word().load(std::memory_order_acquire)); }

  /// Waits for a notify since prepare().
  void wait(key k) { word_.wait(condition{k}, core::never); }

  /// The same, until `at`; false where there was none.
  template <class Duration>
  bool wait_until(key k, std::chrono::time_point<std::chrono::steady_clock, Duration> at) {
    return word_.wait(condition{k}, deadline_ns(at));
  }
  template <class Rep, class Period>
  bool wait_for(key k, std::chrono::duration<Rep, Period> d) {
    return word_.wait(condition{k}, deadline_after_ns(Machine::now_ns(), d));
  }

  void notify_one() {
    const u64 old = word_.word().fetch_add(word::one, std::memory_order_release);
    if ((old & word::sleepers) == 0) return;
    if ((old & word::polling) != 0) {
      // This notify is the poller's: say so by taking its flag, lest another notify counts on it
      // too. Where the word has changed since, somebody may have; then rather wake one too many.
      u64 now = old + word::one;
      if (word_.word().compare_exchange_strong(now, now & ~word::polling,
                                               std::memory_order_relaxed)) {
        return;
      }
    }
    word_.wake(1);
  }

  void notify_all() {
    const u64 old = word_.word().fetch_add(word::one, std::memory_order_release);
    if ((old & word::sleepers) != 0) word_.wake(~0u >> 1);
  }

  /// Whether a waiter polls right now; for tests and diagnosis.
  bool polled() const {
    return (word_.word().load(std::memory_order_relaxed) & word::polling) != 0;
  }
  const Stats& stats() const { return word_.stats(); }

 private:
  struct condition {
    key seen;
    bool ready(u64 w) const { return word::value(w) != seen; }
    u64 taken(u64 w) const { return w; }
    void poll(const typename word::atomic_word& w, u64 until_ns) const {
      Machine::poll_upper(w, seen, until_ns);
    }
  };

  word word_;
};

using waiter = basic_waiter<>;
static_assert(sizeof(waiter) == 64);

}  // namespace haltpoll::wait
