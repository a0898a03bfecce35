#include "counter_trust.hpp"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "counter.hpp"
#include "raw_syscall.hpp"

namespace haltpoll::cpu {
namespace {

bool prctl_lets_counter_be_read() {
#if defined(__x86_64__)
  int mode = 0;
  const long r = raw_syscall(SYS_prctl, PR_GET_TSC, reinterpret_cast<long>(&mode));
  return r < 0 || mode == PR_TSC_ENABLE;
#else
  return true;
#endif
}

}  // namespace

const char* objection(const counter_facts& facts) {
  const bool same = strcmp(facts.clocksource, counter_clocksource) == 0;
  // A paravirtual clock is there to be changed under a running guest: migration to a host with
  // another counter frequency rescales it and may step it, which the vDSO sees at its next reading
  // and a line of ours does not.
  const bool hypervisor = strncmp(facts.clocksource, "kvm", 3) == 0 ||
                          strncmp(facts.clocksource, "hyperv", 6) == 0 ||
                          strncmp(facts.clocksource, "xen", 3) == 0;
  const struct {
    bool applies;
    const char* text;
  } objections[] = {
      {!facts.invariant, "the CPU does not promise a counter of constant rate"},
      {!facts.readable, "this process may not read the counter (prctl PR_SET_TSC)"},
      {facts.clocksource[0] == 0, "the kernel's clock source cannot be read from /sys"},
      {hypervisor,
       "the kernel keeps time by the hypervisor's clock, which may be rescaled at any moment"},
      {!same, "the kernel itself does not keep time by the counter"},
  };
  for (const auto& o : objections) {
    if (o.applies) return o.text;
  }
  return nullptr;
}

counter_facts gather_counter_facts(const char* path) {
  counter_facts facts{};
  facts.invariant = counter_is_invariant();
  facts.readable = prctl_lets_counter_be_read();
  const long fd =
      raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return facts;
  const long n = raw_syscall(SYS_read, fd, reinterpret_cast<long>(facts.clocksource),
                             sizeof facts.clocksource - 1);
  raw_syscall(SYS_close, fd);
  if (n > 0 && facts.clocksource[n - 1] == '\n') facts.clocksource[n - 1] = 0;
  return facts;
}

}  // namespace haltpoll::cpu
