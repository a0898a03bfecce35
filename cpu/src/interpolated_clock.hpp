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
// Why a millisecond: at its end a line is wrong by (error of its slope) x span, and at its start by
// the time that the reading of CLOCK_MONOTONIC took. Slopes are accepted at 100 ppm, 0.1 us per
// span; starts at 0.5 us (60 ns here, so that two readings 1.2 ms apart suffice for a slope). When
// NTP changes its slew, 500 ppm at most by adjtime(3), we follow within 0.5 us. A stopped or
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

/// A line may start from a reading that took 1/2000 of a span, and a slope come from two readings
/// that together took 1/10000 of their distance. Slower ones were interrupted, or are too close
/// together yet.
inline constexpr u64 start_precision = 2'000;
inline constexpr u64 slope_precision = 10'000;

/// Two measured frequencies agree if they differ by less than 1/1000: both are good to 1/10000, and
/// NTP may have changed its slew by 1/2000 in between.
inline constexpr u64 agreement = 1'000;

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

    // A signal handler in the middle of our own rewriting only reads, and tells us that it has.
    // (One that then leaves by longjmp leaves this thread on CLOCK_MONOTONIC for good: right, and
    // slower.)
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
    const bool drawable = width < length / start_precision && now < ns + span_ns;
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

  // A measurement counts when the one before agrees: across a suspend or a jump of the counter it
  // is nonsense, once. All threads measure the same thing: any of their values will do, and one
  // word cannot tear.
  void measure_frequency(u64 tick, u64 ns, u64 width, std::atomic<u64>& ticks_per_span) {
    const u64 ticks = tick - anchor_;
    const u64 apart_ns = ns - anchor_ns_;
    const bool known = anchor_ns_ != 0 && apart_ns < farthest_ns;
    if (known && apart_ns < span_ns) return;
    const bool precise = known && anchor_width_ + width < ticks / slope_precision;
    // Too close together for their widths: the narrower of the two waits for a later partner.
    if (known && !precise && width >= anchor_width_) return;
    anchor_ = tick;
    anchor_ns_ = ns;
    anchor_width_ = width;
    if (!precise) return;
    const u64 measured = ticks * span_ns / apart_ns;
    const u64 apart = measured > measured_ ? measured - measured_ : measured_ - measured;
    if (apart < measured / agreement) ticks_per_span.store(measured, std::memory_order_relaxed);
    measured_ = measured;
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
  u64 measured_ = 0;  // ticks per span, last time
};

}  // namespace haltpoll::cpu
