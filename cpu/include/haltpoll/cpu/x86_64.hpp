#pragma once
// x86_64: the instructions of an x86-64 CPU that waiting needs, one function each and no policy.
// Freestanding: ring-0 guests include it too. Nothing here asks whether the CPU has the
// instruction; CPUID bits stand beside each.
#if defined(__x86_64__)
#include <haltpoll/core/types.hpp>

namespace haltpoll::cpu::x86_64 {

using core::u32;
using core::u64;

struct cpuid_registers {
  u32 eax, ebx, ecx, edx;
};

/// CPUID. Traps in every virtual machine (microseconds): ask once. Leaves above the CPU's highest
/// return nonsense; every CPU with 64-bit mode has 8000_0000 to 8000_0008.
inline cpuid_registers cpuid(u32 leaf, u32 subleaf = 0) {
  cpuid_registers r;
  asm volatile("cpuid"
               : "=a"(r.eax), "=b"(r.ebx), "=c"(r.ecx), "=d"(r.edx)
               : "a"(leaf), "c"(subleaf));
  return r;
}

/// The time stamp counter. Not ordered with the loads around it: it may run a cache miss early.
inline u64 rdtsc() { return __builtin_ia32_rdtsc(); }

/// WAITPKG, CPUID 7.0 ECX bit 5: arms the monitor on the cache line of `address`. Ordered as a
/// load.
inline void umonitor(const volatile void* address) {
  asm volatile("umonitor %0" : : "r"(address) : "memory");
}

/// WAITPKG: sleeps until a store to the armed line, an interrupt, TSC `deadline` or the kernel's
/// limit (IA32_UMWAIT_CONTROL). State C0.1, the lighter of the two: the deeper C0.2 is the kernel's
/// to forbid.
inline void umwait(u64 deadline) {
  asm volatile("umwait %%ecx"
               :
               : "c"(1), "a"(static_cast<u32>(deadline)), "d"(static_cast<u32>(deadline >> 32))
               : "memory", "cc");
}

/// MONITORX, CPUID 8000_0001 ECX bit 29: arms the monitor on the cache line of `address`. Ordered
/// as a load.
inline void monitorx(const volatile void* address) {
  asm volatile("monitorx %%rax, %%ecx, %%edx" : : "a"(address), "c"(0), "d"(0) : "memory");
}

/// MWAITX: sleeps until a store to the armed line, an interrupt, or `ticks` of the TSC. EAX 0xf0
/// keeps the core in C0 (as the kernel's delay_mwaitx does); ECX bit 1 turns the timer in EBX on.
inline void mwaitx(u32 ticks) {
  asm volatile("mwaitx %%eax, %%ecx, %%ebx" : : "a"(0xf0), "b"(ticks), "c"(2) : "memory");
}

}  // namespace haltpoll::cpu::x86_64
#endif
