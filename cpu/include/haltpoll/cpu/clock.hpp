#pragma once
// cpu: what a CPU can do (relax, wait on an address, tell the time) and which of it this machine has, found at run time.
//
// The room must not decide anything (that is core's), allocate, print, or install anything. Everything here works
// before main, in signal handlers and in a preload library: no constructor has to have run.
//
// clock: nanoseconds for measuring polls and blocks.
#include <haltpoll/core/types.hpp>

namespace haltpoll::cpu {

using core::u32;
using core::u64;

/// Nanoseconds since an arbitrary point, the same point as CLOCK_MONOTONIC to within a microsecond. Differences of
/// two readings by one thread are never negative; readings of two threads may differ by the skew of their CPUs.
u64 now_ns();

/// Where now_ns() reads: "vdso", "tsc" or "cntvct".
const char* clock_source();

}  // namespace haltpoll::cpu
