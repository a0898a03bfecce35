#pragma once
// interpolated_clock: CLOCK_MONOTONIC read every millisecond, and a CPU counter in between. All
// arithmetic of the clock, and no instruction or system call: the machine is a template parameter,
// so that tests drive every interleaving.
//
// Why a thread's own line rather than one for the process: there is nothing to share but one word
// (ticks_per_span), so there is no lock, no sequence counter between threads, and nothing that a
// fork() in another thread can leave half-written. The only concurrency left is a signal handler on
// the same thread; see `version` and `busy`.
//
// Why a millisecond: the line is wrong by (error of the slope) x span. A slope is accepted when
// both readings it came from were bracketed to within 1/2000 of their distance, so it is off by 500
// ppm at most: 0.5 us at the end of the span (bracket here 60 ns in 1 ms: 60 ppm, 0.06 us). And
// when NTP changes its slew, 500 ppm at most by adjtime(3), we follow within 0.5 us. A stopped or
// replaced machine (suspend, migration, snapshot) is forgotten after a millisecond of counter.
// Re-reading costs about 100 ns per millisecond, 0.01 %.
//
// Why it never steps back for one thread, whatever the counter does: each reading is raised to the
// one before (`last`). A new line starts at `last` and heads for where CLOCK_MONOTONIC will be at
// its end, so being ahead does not last.
#include <atomic>
#include <haltpoll/core/types.hpp>

namespace haltpoll::cpu {

using core::u32;
using core::u64;

inline constexpr u64 span_ns = 1'000'000;

/// Farther apart, a suspend is likely to lie between two readings, during which only the counter
/// ran.
inline constexpr u64 farthest_ns = 1'000 * span_ns;

/// A bracket of counter readings is narrow enough if it is this fraction of the distance it is to
/// measure.
inline constexpr u64 bracket_fraction = 2'000;

/// One thread's clock. Atomic for the signal handlers of that thread only, so every access is
/// relaxed and the order is kept by signal fences, which cost nothing.
class interpolated_clock {
 public:
  constexpr interpolated_clock() = default;

  /// Nanoseconds of CLOCK_MONOTONIC, at most a microsecond off, never less than the last call by
  /// this thread. `machine` has counter() and monotonic_ns(); `ticks_per_span` is the process's
  /// measured frequency, 0 when unknown.
  template <class Machine>
  u64 now(Machine&& machine, std::atomic<u64>& ticks_per_span) {
    for (;;) {
      const u64 version = get(version_);
      const u64 start = get(start_);
      const u64 start_ns = get(start_ns_);
      const u64 rate = get(rate_);
      const u64 length = get(length_);
      signal_fence();
      const u64 ticks = machine.counter() - start;
      // Also where the counter went backwards: the difference is then huge.
      if (ticks >= length) return reread(machine, ticks_per_span);
      signal_fence();
      // Else a signal handler came between and drew a new line.
      if (version == get(version_))
        return not_before_last(start_ns + ((ticks * rate) >> rate_shift));
    }
  }

  /// The same without the counter, for a thread that must not use it any more.
  template <class Machine>
  u64 now_without_counter(Machine&& machine) {
    set(length_, 0);
    return not_before_last(machine.monotonic_ns());
  }

 private:
  static constexpr int rate_shift = 32;  // (ticks < length) * rate < span_ns << 32 < 2^52

  static void signal_fence() { std::atomic_signal_fence(std::memory_order_seq_cst); }
  static u64 get(const std::atomic<u64>& field) { return field.load(std::memory_order_relaxed); }
  static void set(std::atomic<u64>& field, u64 value) {
    field.store(value, std::memory_order_relaxed);
  }

  // A handler between the load and the store may have returned more than we store. Its reading is
  // older than any of ours to come by a whole signal return, and on the same line or one that
  // starts there, so they stay in order.
  u64 not_before_last(u64 ns) {
    const u64 last = get(last_);
    if (ns < last) return last;
    set(last_, ns);
    return ns;
  }

  template <class Machine>
  [[gnu::noinline]] u64 reread(Machine& machine, std::atomic<u64>& ticks_per_span) {
    const u64 tick = machine.counter();
    const u64 ns = machine.monotonic_ns();
    const u64 width = machine.counter() - tick;

    // A signal handler in the middle of our own rewriting: it only reads, and tells us that it has.
    if (get(busy_)) {
      set(interrupted_, 1);
      return not_before_last(ns);
    }
    set(busy_, 1);
    signal_fence();
    set(version_, get(version_) + 1);
    set(length_, 0);
    signal_fence();

    measure_frequency(tick, ns, width, ticks_per_span);
    const u64 length = ticks_per_span.load(std::memory_order_relaxed);
    const u64 now = not_before_last(ns);
    // Ahead by a span: CLOCK_MONOTONIC stood still (suspend). It will come.
    const bool drawable = width < length / bracket_fraction && now < ns + span_ns;
    if (drawable) {
      set(start_, tick);
      set(start_ns_, now);
      set(rate_, ((ns + span_ns - now) << rate_shift) / length);
      signal_fence();
      set(length_, length);
    }

    signal_fence();
    set(busy_, 0);
    signal_fence();
    // The handler may have read CLOCK_MONOTONIC later than the start of this line; the next call
    // draws another.
    if (get(interrupted_)) {
      set(interrupted_, 0);
      set(length_, 0);
    }
    return now;
  }

  void measure_frequency(u64 tick, u64 ns, u64 width, std::atomic<u64>& ticks_per_span) {
    const u64 ticks = tick - anchor_;
    const u64 apart_ns = ns - anchor_ns_;
    if (anchor_ns_ != 0 && apart_ns < span_ns) return;  // too early; the anchor stays
    const bool usable = anchor_ns_ != 0 && apart_ns < farthest_ns &&
                        anchor_width_ + width < ticks / bracket_fraction;
    // All threads measure the same thing: any of their values will do, and one word cannot tear.
    if (usable) ticks_per_span.store(ticks * span_ns / apart_ns, std::memory_order_relaxed);
    anchor_ = tick;
    anchor_ns_ = ns;
    anchor_width_ = width;
  }

  std::atomic<u64> version_{0};   // changes with every line
  std::atomic<u64> start_{0};     // counter
  std::atomic<u64> start_ns_{0};  // what now() says there
  std::atomic<u64> rate_{0};      // ns per tick, << rate_shift
  std::atomic<u64> length_{0};    // ticks that the line is good for; 0: no line
  std::atomic<u64> last_{0};      // the last reading handed out
  std::atomic<u64> busy_{0};
  std::atomic<u64> interrupted_{0};
  u64 anchor_ =
      0;  // the earlier reading of the pair that measures the frequency; only touched while busy_
  u64 anchor_ns_ = 0;
  u64 anchor_width_ = 0;
};

}  // namespace haltpoll::cpu
