#pragma once
// preemption: whether somebody else ran on this thread's CPU since it started to poll.
//
// A polling thread may only use a CPU that nobody else could use. The kernel tells without a system
// call: it sets the rseq_cs field of a thread's restartable-sequence area to null whenever it
// preempts or migrates the thread, or delivers a signal to it, outside of the critical section the
// field describes (uapi/linux/rseq.h). So the watch points the field at a section that is never
// entered and looks whether the pointer is still there.
//
// One watch per thread at a time, armed by the thread that asks. A watch armed in a signal handler
// leaves an outer one of the same thread disturbed, which is true: the signal disturbed it. Other
// users of rseq_cs in the process (librseq) set it for each of their sections and never while a
// watch is armed, as the thread is busy polling.
//
// Works before main, in signal handlers, in a preload library. Needs libc only. Keeps errno.
#include <haltpoll/core/types.hpp>

namespace haltpoll::cpu {

using core::u64;

class preemption_watch {
 public:
  preemption_watch() = default;
  preemption_watch(const preemption_watch&) = delete;
  preemption_watch& operator=(const preemption_watch&) = delete;
  ~preemption_watch() { disarm(); }

  /// Watches from now on. Two stores (1 ns); in the fallback one getrusage (470 ns). The first call
  /// in a process finds out what the kernel tells, which takes two sleeps of about 70 us.
  void arm();

  /// Whether this thread was preempted, migrated, gave up its CPU or (source "rseq" only) handled a
  /// signal since arm(). False where it was never armed. One load; in the fallback one getrusage.
  bool disturbed() const;

  /// Offers the CPU to others and says whether one took it: sched_yield (780 ns when nobody does),
  /// then disturbed().
  bool give_way();

  /// Ends the watch; disturbed() is false from then on. Does nothing where it is not armed.
  void disarm();

  /// Whether this process has the source that costs no system call.
  static bool supported();

  /// What the watch of a new arm() looks at: "rseq", or "rusage" (the context switch counts of the
  /// thread): without rseq (glibc before 2.35, musl, user-mode emulation, turned off by a tunable),
  /// and on kernels that leave rseq_cs alone when a thread is switched out inside a system call
  /// (the rewrite of 2025, Linux 6.19 on): there a sched_yield that really switched would go
  /// unnoticed. Asked of the kernel by sleeping for a moment, not of its version.
  static const char* source();

  /// Makes later arm() calls of the process use this source; nullptr lifts it. False where there is
  /// no such source or it is not supported. For tests.
  static bool force_source(const char* name);

 private:
  enum class state : unsigned char { off, rseq, rusage };
  state state_ = state::off;
  u64 switches_ = 0;  ///< rusage: context switches of the thread at arm()
};

}  // namespace haltpoll::cpu
