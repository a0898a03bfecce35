#pragma once
// facts: what this machine is and what idles it, read from /proc, /sys and CPUID.
//
// Reading only. Everything comes from below a root directory and from a CPUID reader that tests
// replace, so that a KVM guest, bare metal and a misconfigured machine are all tested on one.
#include <functional>
#include <haltpoll/core/types.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace haltpoll::cli {

using core::u32;
using core::u64;

struct cpuid_registers {
  u32 eax, ebx, ecx, edx;
};
/// Registers of a leaf; empty where there is no CPUID (arm64, or a copy of another machine).
using cpuid_reader = std::function<std::optional<cpuid_registers>(u32 leaf)>;
cpuid_reader this_cpu();
cpuid_reader no_cpuid();

struct machine_facts {
  u32 cpus = 0;       ///< online
  std::string model;  ///< /proc/cpuinfo
  std::string
      hypervisor;         ///< "KVM", "none", ...: CPUID, else /sys/hypervisor, else the device tree
  std::string product;    ///< DMI vendor and product; empty without DMI
  std::string kernel;     ///< release
  std::string clock;      ///< current clock source
  std::optional<u32> hz;  ///< CONFIG_HZ, where the kernel's configuration can be read
  std::optional<double> steal_share;  ///< of CPU time since boot, 0 to 1
};

/// What KVM tells its guest in leaf 0x40000001.
struct kvm_facts {
  bool realtime_hint;  ///< dedicated CPUs: the kernel's haltpoll driver loads by itself only then
  bool poll_control;   ///< the guest may switch the host's own halt polling off
};

struct idle_facts {
  std::string driver;    ///< of cpuidle; "none" without one
  std::string governor;  ///< of cpuidle; only in use with a driver
  std::vector<std::pair<std::string, std::string>> haltpoll_parameters;  ///< name, value; sorted
  std::string parameter;      ///< idle=... of the kernel command line; empty without
  std::optional<bool> mwait;  ///< x86: exposed by the hypervisor or the CPU
  std::optional<kvm_facts> kvm;
  std::string summary;  ///< one line: what an idle CPU does today
  bool haltpoll_in_use() const { return driver != "none" && governor == "haltpoll"; }
};

/// CPU time a control group grants, where it grants less than everything.
struct quota_facts {
  u64 quota_us, period_us;
  std::string file;
};

struct facts {
  machine_facts machine;
  idle_facts idle;
  std::optional<quota_facts> quota;
};

/// `sysroot` is put before every path; "" is this machine.
facts read_facts(const std::string& sysroot, const cpuid_reader& cpuid);

/// What is set up in a way that cannot have been meant, one line each.
std::vector<std::string> lint(const facts& f);

}  // namespace haltpoll::cli
