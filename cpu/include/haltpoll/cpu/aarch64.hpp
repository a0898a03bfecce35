#pragma once
// aarch64: the instructions of an arm64 CPU that waiting needs, one function each and no policy.
// Freestanding: EL1 guests include it too. Nothing here asks whether the CPU has the instruction.
#if defined(__aarch64__)
#include <haltpoll/core/types.hpp>

namespace haltpoll::cpu::aarch64 {

using core::u32;
using core::u64;

/// The virtual counter, CNTVCT_EL0. Not ordered with the loads around it (that would take an ISB).
inline u64 cntvct() {
  u64 ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
  return ticks;
}

/// LDAXR: reads with acquire ordering and arms the exclusive monitor; another CPU's store to the
/// granule is from now on an event for this CPU's WFE.
inline u32 load_exclusive(const volatile u32* address) {
  u32 value;
  asm volatile("ldaxr %w0, %1" : "=r"(value) : "Q"(*address) : "memory");
  return value;
}

/// Sleeps until an event: the armed granule written, an interrupt taken, SEV, or the kernel's event
/// stream.
inline void wfe() { asm volatile("wfe" : : : "memory"); }

/// FEAT_WFxT: as wfe(), or until CNTVCT_EL0 reaches `deadline`. (Encoded: Debian 12's assembler
/// needs -march for it.)
inline void wfet(u64 deadline) {
  register u64 x0 asm("x0") = deadline;
  asm volatile(".inst 0xd5031000" : : "r"(x0) : "memory");  // wfet x0
}

}  // namespace haltpoll::cpu::aarch64
#endif
