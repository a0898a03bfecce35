#pragma once
// wait_word: the one algorithm under all primitives. A 32-bit value, who waits for it, and what the
// governor has learnt, on one cache line.
//
// One 64-bit atomic word holds the value (upper half, also the futex) and the waiters (lower half):
//
//     63            32  31      30       29        0
//     [    value     ][tuning][polling][ sleepers  ]
//
// sleepers  threads that are in futex_wait, or about to enter it, or about to return from it
// polling   one waiter polls and will see the next change by itself: notifiers need not wake it
// tuning    one waiter owns the governor's state; a poller owns it too, so one waiter polls at most
//
// Memory ordering. There is no store-load (Dekker) pair to get wrong, as announcing oneself and
// changing the value are read-modify-writes of one word, which are totally ordered:
//   - A waiter that stops polling, or goes to sleep, does so by a compare-exchange from a word whose
//     value did not end the wait. A notifier's change that came first makes it fail.
//   - A change that comes later finds `polling` or `sleepers` in the word it replaced.
// Between the compare-exchange and falling asleep the kernel compares the value once more. So
// notifiers need release, waiters acquire, and nobody needs seq_cst. Changes of other memory made
// before the notifier's read-modify-write are seen by a waiter that loads the word after it; that
// is what waiter and wait_on build on. The tuning bit is a lock: acquired and released by
// compare-exchanges with acq_rel.
//
// A poller that a notifier relied on may be preempted before it sees the change. It is runnable
// then, and the scheduler runs it as soon as it would run a woken thread on that CPU; others that
// sleep on the same word are not woken in its place.
#include <algorithm>
#include <haltpoll/core/governor.hpp>
#include <haltpoll/wait/machine.hpp>

namespace haltpoll::wait {

/// How long a poll goes on before it offers its CPU to others, ns. A yield that nobody takes costs
/// 0.8 us here, in which nothing is looked at; a thread that waits for the CPU waits this long.
inline constexpr u64 yield_every_ns = 4'000;
/// Longest back-off: after polls that somebody else's need for the CPU ended, the next 1, 3, 7, ...
/// 1023 waits do not poll. The worst case, two threads on one CPU, then wastes one yield interval
/// per 1023 blocking hand-offs of 3.5 us, 0.1 %.
inline constexpr u32 max_backoff_level = 10;

template <class Governor, class Stats, class Machine>
class alignas(64) wait_word {
 public:
  using atomic_word = typename Machine::template atomic<u64>;

  static constexpr u64 sleeper = 1;
  static constexpr u64 sleepers = (1u << 30) - 1;
  static constexpr u64 polling = 1u << 30;
  static constexpr u64 tuning = 1u << 31;
  static constexpr u64 one = 1ULL << 32;  ///< the value's unit

  static constexpr u32 value(u64 word) { return static_cast<u32>(word >> 32); }

  constexpr wait_word(u32 initial = 0) : word_(initial * one) {}
  wait_word(const wait_word&) = delete;
  wait_word& operator=(const wait_word&) = delete;

  atomic_word& word() { return word_; }
  const atomic_word& word() const { return word_; }
  Stats& stats() { return stats_; }
  const Stats& stats() const { return stats_; }

  /// Wakes up to `count` threads asleep. The object may be gone when it returns, and only `this` is
  /// used where Stats counts nothing.
  void wake(u32 count) {
    stats_.woke();
    Machine::futex_wake(word_, count);
  }

  /// A condition C says when a wait is over:
  ///   bool ready(u64 w) const      whether it is, for a `w` loaded (acquire) just before
  ///   u64 taken(u64 w) const       the word with what this waiter takes taken out
  ///   bool ready_elsewhere() const only where ready() does not depend on `w`: the same without it
  ///   void poll(const atomic_word&, u64 until_ns) const   polls until it may be ready

  /// Ends the wait if that is possible at once.
  template <class C>
  bool try_take(const C& c) {
    u64 w = 0;
    return look(c, w);
  }

  /// Waits for the condition until now_ns() reaches `deadline_ns`; false where it was not met.
  template <class C>
  bool wait(const C& c, u64 deadline_ns) {
    u64 w = 0;
    if (look(c, w)) return true;
    // Off where the governor does not poll or backs off, or another waiter polls already.
    if ((w & tuning) == 0) {
      for (u32 n = looks_.load(std::memory_order_relaxed); n != 0; --n) {
        Machine::relax();
        if (look(c, w)) {
          stats_.looked();
          return true;
        }
      }
    }
    return wait_slowly(c, deadline_ns);
  }

 private:
  enum class ended { hit, miss, contended };

  bool replace(u64& w, u64 next) {
    return word_.compare_exchange_strong(w, next, std::memory_order_acq_rel,
                                         std::memory_order_acquire);
  }

  /// Takes what `c` waits for and drops `bits` of the word, in one step. Leaves `w` as loaded last.
  template <class C>
  bool take(const C& c, u64& w, u64 bits) {
    while (c.ready(w)) {
      const u64 next = c.taken(w) & ~bits;
      if (next == w || replace(w, next)) return true;
    }
    return false;
  }

  template <class C>
  bool look(const C& c, u64& w) {
    if constexpr (requires { c.ready_elsewhere(); }) {
      return c.ready_elsewhere();
    } else {
      w = word_.load(std::memory_order_acquire);
      return take(c, w, 0);
    }
  }

  template <class C>
  [[gnu::noinline]] bool wait_slowly(const C& c, const u64 deadline_ns) {
    u64 now = Machine::now_ns();
    u64 w = word_.load(std::memory_order_acquire);
    u64 held = 0;
    while (!c.ready(w) && (w & tuning) == 0 && now < deadline_ns) {
      if (replace(w, w | tuning | polling)) {
        held = tuning | polling;
        break;
      }
    }
    core::outcome period;
    if (held != 0) {
      if (const u64 window_ns = decide(); window_ns != 0) {
        period = poll(c, now, window_ns, deadline_ns);
        now += period.polled_ns;
      }
      w = word_.load(std::memory_order_acquire);
    }
    for (;;) {
      if (take(c, w, held)) return true;
      const bool over = now >= deadline_ns;
      if (over && held == 0) return false;
      if (replace(w, (w & ~held) + (over ? 0 : sleeper))) {
        if (over) return false;
        break;
      }
    }
    return sleep(c, w, period, now, deadline_ns);
  }

  /// Polls for the window at most, and tells the governor of a hit.
  template <class C>
  core::outcome poll(const C& c, u64 start, u64 window_ns, u64 deadline_ns) {
    const u64 end = std::min(start + window_ns, deadline_ns);
    u64 yield_at = start + yield_every_ns;
    u64 now = start;
    ended how = ended::miss;
    typename Machine::watch watch;
    watch.arm();
    for (;;) {
      c.poll(word_, std::min(end, yield_at));
      const bool ready = c.ready(word_.load(std::memory_order_acquire));
      now = Machine::now_ns();
      if (ready) how = ended::hit;
      if (ready || now >= end) break;
      if (now < yield_at) continue;
      if (watch.give_way()) {
        now = Machine::now_ns();
        how = ended::contended;
        break;
      }
      yield_at = now + yield_every_ns;
    }
    stats_.polled(how == ended::hit, now - start);
    // A reading in the fallback of the watch costs a system call: only where it can matter.
    if (how == ended::hit && level_ != 0 && !watch.disturbed()) --level_;
    watch.disarm();
    if (how == ended::contended) back_off();
    core::outcome o;
    o.polled_ns = now - start;
    o.timed_out = how == ended::miss && now - start >= window_ns;
    if (how == ended::hit) {
      o.state = core::poll_state;
      Governor::reflect(state_, o);
    }
    o.state = core::halt_state;
    return o;
  }

  /// Sleeps until the condition is met or the deadline has passed; `w` counts this thread not yet.
  template <class C>
  bool sleep(const C& c, u64 w, core::outcome& period, u64 start, u64 deadline_ns) {
    for (;;) {
      const bool over = Machine::futex_wait(word_, value(w), deadline_ns) == ETIMEDOUT;
      w = word_.load(std::memory_order_acquire);
      for (;;) {
        const bool ready = c.ready(w);
        if (!ready && !over) break;  // woken for something that another thread has taken
        if (!replace(w, ((ready ? c.taken(w) : w) - sleeper) | tuning)) continue;
        period.block_ns = Machine::now_ns() - start;
        stats_.blocked(period.block_ns);
        if ((w & tuning) == 0) {  // else another thread owns the state, and this block goes untold
          Governor::reflect(state_, period);
          word_.fetch_and(~tuning, std::memory_order_release);
        }
        return ready;
      }
    }
  }

  /// The window of this wait, ns. The caller owns the state.
  u64 decide() {
    u64 window_ns = 0;
    if (skip_ != 0) {
      --skip_;
      stats_.backed_off();
    } else {
      const core::decision d = Governor::select(state_, core::request{});
      if (d.state == core::poll_state) window_ns = d.window_ns;
    }
    looks_.store(window_ns != 0 ? Machine::first_looks : 0, std::memory_order_relaxed);
    return window_ns;
  }

  void back_off() {
    stats_.contended();
    level_ = std::min(level_ + 1, max_backoff_level);
    skip_ = (1u << level_) - 1;
    looks_.store(0, std::memory_order_relaxed);
  }

  atomic_word word_;
  typename Machine::template atomic<u32> looks_{0};  ///< of the next wait; a hint, unordered
  u32 skip_ = 0;                                     ///< waits left that may not poll
  u32 level_ = 0;                                    ///< of the back-off
  typename Governor::state state_{};
  [[no_unique_address]] Stats stats_;
};

}  // namespace haltpoll::wait
