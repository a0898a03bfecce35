#pragma once
// counter_trust: whether this machine's CPU counter may stand in for CLOCK_MONOTONIC between two
// readings of it. The decision is a pure function of facts, so that tests can invent machines.
#include <haltpoll/core/types.hpp>

namespace haltpoll::cpu {

using core::u64;

/// What the decision needs to know of a machine.
struct counter_facts {
  bool invariant;  ///< same rate in every power state: CPUID 8000_0007 EDX bit 8; arm64: by
                   ///< architecture
  bool readable;   ///< prctl(PR_GET_TSC) does not say that reading it raises SIGSEGV (as under rr)
  char clocksource[32];  ///< the kernel's current clock source, empty when unknown
};

/// nullptr where the counter may be used, else one line saying why not.
const char* objection(const counter_facts&);

/// This machine's facts. A handful of raw system calls (none of libc's, which a preload library may
/// have replaced), errno untouched. The file is a parameter for tests.
counter_facts gather_counter_facts(const char* clocksource_file);

inline constexpr const char* clocksource_file =
    "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Ticks of the counter in a millisecond as measured so far; 0 while unknown or where the counter
/// is not used.
u64 counter_ticks_per_ms();

}  // namespace haltpoll::cpu
