#pragma once
// event: a flag to wait for. `event` resets itself and lets one waiter through per set();
// `manual_event` stays set and lets everyone through until reset().
//
// Contract: set() of a set event does nothing (sets do not add up). What the setter wrote before
// set() is seen after a wait that it ended. A set() that finds the only waiter polling makes no
// system call. set() may be called from a signal handler, and a waiter may destroy the event as
// soon as its wait has returned, even if set() has not. Waiters are let through in no particular
// order. One waiter polls at a time, the others sleep. No allocation, no thread; not for several
// processes.
//
// Memory ordering: set() is one release fetch_or, a wait ends with an acquire compare-exchange (or,
// manual, an acquire load) of the same word, see wait_word.hpp. reset() is relaxed: it orders
// nothing, as nothing could tell whether it came before or after a set() that it races with.
#include <haltpoll/wait/deadline.hpp>
#include <haltpoll/wait/governors.hpp>
#include <haltpoll/wait/stats.hpp>
#include <haltpoll/wait/wait_word.hpp>

namespace haltpoll::wait {

enum class reset { automatic, manual };

template <reset Reset = reset::automatic, class Governor = haltpoll_governor<>,
          class Stats = no_stats, class Machine = linux_machine>
class basic_event {
  using word = wait_word<Governor, Stats, Machine>;

 public:
  constexpr explicit basic_event(bool initially_set = false) : word_(initially_set ? 1 : 0) {}

  /// Sets the event, and wakes one sleeper (manual: all) unless a poller sees it by itself.
  void set() {
    const u64 old = word_.word().fetch_or(word::one, std::memory_order_release);
    if ((old & word::one) != 0 || (old & word::sleepers) == 0) return;
    if constexpr (Reset == reset::manual) {
      word_.wake(~0u >> 1);
    } else if ((old & word::polling) == 0) {
      word_.wake(1);
    }
  }

  /// Unsets the event.
  void reset() { word_.word().fetch_and(~word::one, std::memory_order_relaxed); }

  /// Waits until the event is set.
  void wait() { word_.wait(condition{}, core::never); }

  /// The same without waiting; false where it is not set.
  bool try_wait() { return word_.try_take(condition{}); }

  /// The same until `at` or for `d`; false where it was not set by then.
  template <class Duration>
  bool wait_until(std::chrono::time_point<std::chrono::steady_clock, Duration> at) {
    return word_.wait(condition{}, deadline_ns(at));
  }
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> d) {
    return word_.wait(condition{}, deadline_after_ns(Machine::now_ns(), d));
  }

  /// Whether a waiter polls right now; for tests and diagnosis.
  bool polled() const {
    return (word_.word().load(std::memory_order_relaxed) & word::polling) != 0;
  }
  const Stats& stats() const { return word_.stats(); }

 private:
  struct condition {
    bool ready(u64 w) const { return (w & word::one) != 0; }
    u64 taken(u64 w) const { return Reset == reset::manual ? w : w & ~word::one; }
    void poll(const typename word::atomic_word& w, u64 until_ns) const {
      Machine::poll_upper(w, 0, until_ns);
    }
  };

  word word_;
};

using event = basic_event<>;
using manual_event = basic_event<reset::manual>;
static_assert(sizeof(event) == 64);

}  // namespace haltpoll::wait
