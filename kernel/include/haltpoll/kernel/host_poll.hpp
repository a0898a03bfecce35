#pragma once
// host_poll: the host's own halt polling, which a KVM guest that polls may switch off (MSR 0x4b564d05, MSR_KVM_POLL_CONTROL, bit 0;
// offered by bit 12 of CPUID leaf 0x40000001: Documentation/virt/kvm/x86/{msr,cpuid}.rst). Otherwise each miss is polled twice: here,
// then on the host (200 us on x86).
//
// The MSR belongs to each virtual CPU. Access goes through /dev/cpu/N/msr, which needs the msr driver, CAP_SYS_RAWIO and no lockdown.
// Writing there marks the kernel as tainted (flag S) until it is booted again, once for any number of writes.
#include <array>
#include <functional>
#include <haltpoll/kernel/guards.hpp>
#include <memory>
#include <utility>

namespace haltpoll::kernel {

inline constexpr u32 msr_kvm_poll_control = 0x4b564d05;

/// The way to the MSRs; a fake in tests. 0 or -errno.
class msr_access {
 public:
  virtual ~msr_access() = default;
  virtual int read(u32 cpu, u32 msr, u64& value) = 0;
  virtual int write(u32 cpu, u32 msr, u64 value) = 0;
};
/// /dev/cpu/N/msr below `sysroot`.
std::unique_ptr<msr_access> device_msr(const std::string& sysroot = "");

/// eax, ebx, ecx, edx of a CPUID leaf; empty: no x86 CPU.
using cpuid_reader = std::function<std::array<u32, 4>(u32 leaf)>;
cpuid_reader this_cpuid();

/// Does the host offer it? Empty, or why not (one line).
std::string host_poll_offered(const cpuid_reader& cpuid = this_cpuid());

/// The values found before the change, by CPU.
struct saved_host_poll {
  std::vector<std::pair<u32, u64>> values;
};
/// Reads what is there and changes nothing, so that it can be told to whoever undoes before there is anything to undo.
std::variant<saved_host_poll, refusal> read_host_poll(msr_access& msr, const cpu_list& cpus);
/// Clears bit 0 on every CPU of `found`, all or none: what was changed before the failure is put back.
std::optional<refusal> switch_host_poll_off(msr_access& msr, const saved_host_poll& found);
/// Writes the saved values back, on as many CPUs as can be reached (one may be offline).
void restore_host_poll(msr_access& msr, const saved_host_poll& saved);

}  // namespace haltpoll::kernel
