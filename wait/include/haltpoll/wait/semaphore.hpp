#pragma once
// semaphore: a count of tokens. Interface of std::counting_semaphore.
//
// Contract: release(n) adds n tokens and wakes as many sleepers as there are new tokens that no
// poller takes, so a token is never left lying while somebody sleeps for it. What the releaser
// wrote before is seen after an acquire() that took its token. A release(1) that finds the only
// waiter polling makes no system call. release() may be called from a signal handler, and a waiter
// may destroy the semaphore as soon as acquire() has returned. Tokens are handed out in no
// particular order. One waiter polls at a time. No allocation, no thread; not for several
// processes.
//
// Memory ordering: release is one release fetch_add, acquire ends with an acquire compare-exchange
// of the same word, see wait_word.hpp. Tokens covered by a poller: with c tokens and p pollers,
// max(0, c - p) are for sleepers; a release wakes for the growth of that number. p rises only where
// c is 0, and falls only together with c or where c is 0, so tokens for sleepers never exceed the
// threads already woken for them.
#include <haltpoll/wait/deadline.hpp>
#include <haltpoll/wait/governors.hpp>
#include <haltpoll/wait/stats.hpp>
#include <haltpoll/wait/wait_word.hpp>

namespace haltpoll::wait {

template <class Governor = haltpoll_governor<>, class Stats = no_stats,
          class Machine = linux_machine>
class basic_semaphore {
  using word = wait_word<Governor, Stats, Machine>;

 public:
  /// Most tokens there may be at a time.
  static constexpr u32 max() { return 0x7fff'ffff; }

  constexpr explicit basic_semaphore(u32 tokens) : word_(tokens) {}

  /// Adds `n` tokens. There may be no more than max() afterwards.
  void release(u32 n = 1) {
    const u64 old = word_.word().fetch_add(n * word::one, std::memory_order_release);
    const u32 asleep = static_cast<u32>(old & word::sleepers);
    if (asleep == 0) return;
    const u32 had = word::value(old);
    const u32 pollers = (old & word::polling) != 0 ? 1 : 0;
    const u32 woken = for_sleepers(had + n, pollers) - for_sleepers(had, pollers);
    if (woken != 0) word_.wake(std::min(woken, asleep));
  }

  /// Waits for a token and takes it.
  void acquire() { word_.wait(condition{}, core::never); }

  /// Takes a token if there is one.
  bool try_acquire() { return word_.try_take(condition{}); }

  /// Waits for a token until `at` or for `d`; false where there was none by then.
  template <class Duration>
  bool try_acquire_until(std::chrono::time_point<std::chrono::steady_clock, Duration> at) {
    return word_.wait(condition{}, deadline_ns(at));
  }
  template <class Rep, class Period>
  bool try_acquire_for(std::chrono::duration<Rep, Period> d) {
    return word_.wait(condition{}, deadline_after_ns(Machine::now_ns(), d));
  }

  /// Whether a waiter polls right now; for tests and diagnosis.
  bool polled() const {
    return (word_.word().load(std::memory_order_relaxed) & word::polling) != 0;
  }
  const Stats& stats() const { return word_.stats(); }

 private:
  static constexpr u32 for_sleepers(u32 tokens, u32 pollers) {
    return tokens > pollers ? tokens - pollers : 0;
  }

  struct condition {
    bool ready(u64 w) const { return word::value(w) != 0; }
    u64 taken(u64 w) const { return w - word::one; }
    void poll(const typename word::atomic_word& w, u64 until_ns) const {
      Machine::poll_upper(w, 0, until_ns);
    }
  };

  word word_;
};

using semaphore = basic_semaphore<>;
static_assert(sizeof(semaphore) == 64);

}  // namespace haltpoll::wait
