#pragma once
// counter: this architecture's free-running counter.
#include <haltpoll/cpu/aarch64.hpp>
#include <haltpoll/cpu/x86_64.hpp>

namespace haltpoll::cpu {

#if defined(__x86_64__)
inline constexpr const char* counter_name = "tsc";
inline constexpr const char* counter_clocksource = "tsc";
inline core::u64 read_counter() { return x86_64::rdtsc(); }
inline bool counter_is_invariant() { return (x86_64::cpuid(0x80000007).edx >> 8) & 1; }
#elif defined(__aarch64__)
inline constexpr const char* counter_name = "cntvct";
inline constexpr const char* counter_clocksource = "arch_sys_counter";
inline core::u64 read_counter() { return aarch64::cntvct(); }
inline bool counter_is_invariant() { return true; }
#endif

}  // namespace haltpoll::cpu
