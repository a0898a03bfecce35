// Compiled, never run: every function of the headers that ring-0 guests include.
#include <haltpoll/cpu/aarch64.hpp>
#include <haltpoll/cpu/relax.hpp>
#include <haltpoll/cpu/x86_64.hpp>

namespace cpu = haltpoll::cpu;

unsigned long long use_all(const unsigned* word) {
  cpu::relax();
#if defined(__x86_64__)
  cpu::x86_64::umonitor(word);
  cpu::x86_64::umwait(cpu::x86_64::rdtsc());
  cpu::x86_64::monitorx(word);
  cpu::x86_64::mwaitx(1);
  return cpu::x86_64::cpuid(0).eax;
#else
  cpu::aarch64::wfe();
  cpu::aarch64::wfet(cpu::aarch64::cntvct());
  return cpu::aarch64::load_exclusive(word);
#endif
}
