#pragma once
// cpu: what a CPU can do (relax, wait on an address, tell the time) and which of it this machine
// has, found at run time.
//
// The room must not decide anything (that is core's), allocate, print, or install anything.
// Everything here works before main, in signal handlers and in a preload library: no constructor
// has to have run.
//
// clock: nanoseconds for measuring polls and blocks.
#include <haltpoll/core/types.hpp>

namespace haltpoll::cpu {

using core::u32;
using core::u64;

/// Nanoseconds since an arbitrary point, the same point as CLOCK_MONOTONIC to within a microsecond.
/// Two readings by one thread never go backwards; readings of two threads may differ by that
/// microsecond.
///
/// Lock-free, and no thread waits for another. Not ordered with the memory accesses around it (by
/// about a cache miss). Reads the CPU's counter where the kernel does too, anchored to
/// CLOCK_MONOTONIC once per thread and millisecond (12 ns per call where CLOCK_MONOTONIC takes 30).
/// Until a thread has taken 3000 readings it is CLOCK_MONOTONIC itself: finding out which counter
/// to trust reads a file in /sys and would cost more. While the rate of CLOCK_MONOTONIC is changing
/// by s ppm (NTP: up to 500), add s ns to the microsecond.
u64 now_ns();

/// Where now_ns() reads: "vdso", "tsc" or "cntvct".
const char* clock_source();

/// Why the counter is not trusted on this machine, one line for `haltpoll doctor`; nullptr where it
/// is.
const char* clock_objection();

/// Makes now_ns() use this source from now on; nullptr lifts it. False where there is no such
/// source or it is not trusted. For tests, for comparing sources on one machine, and for code that
/// must not open files: "vdso" asks nothing of the machine. May be called while other threads read.
bool force_clock(const char* name);

}  // namespace haltpoll::cpu
