#include "facts.hpp"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <haltpoll/core/spec.hpp>
#include <memory>
#include <sstream>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace haltpoll::cli {
namespace fs = std::filesystem;
namespace {

constexpr u32 hypervisor_leaf = 0x4000'0000;
// Where a KVM that also speaks Hyper-V puts its own leaves (arch/x86/include/asm/processor.h
// searches in these steps too).
constexpr u32 second_hypervisor_leaf = 0x4000'0100;

struct signature {
  const char* text;
  const char* name;
};
constexpr signature signatures[] = {
    {"KVMKVMKVM", "KVM"},
    {"Microsoft Hv", "Hyper-V"},
    {"VMwareVMware", "VMware"},
    {"XenVMMXenVMM", "Xen"},
    {"TCGTCGTCGTCG", "QEMU without hardware virtualisation"},
    {"VBoxVBoxVBox", "VirtualBox"},
    {"bhyve bhyve ", "bhyve"},
    {"ACRNACRNACRN", "ACRN"},
    {"Jailhouse", "Jailhouse"},
    {"UnisysSpar64", "s-Par"},
};

/// First line; empty if there is none.
std::string line_of(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  // Device-tree texts end in NUL, DMI ones in blanks.
  while (!line.empty() && (line.back() == '\0' || line.back() == ' ')) line.pop_back();
  return line;
}

std::optional<u64> number_of(const std::string& text) {
  u64 value = 0;
  if (!core::spec::number({text.data(), static_cast<u32>(text.size())}, value)) return std::nullopt;
  return value;
}

/// "0-3,8" -> 5
u32 count_cpus(const std::string& list) {
  u32 count = 0;
  std::istringstream in(list);
  for (std::string range; std::getline(in, range, ',');) {
    const auto dash = range.find('-');
    const auto first = number_of(range.substr(0, dash));
    const auto last = dash == std::string::npos ? first : number_of(range.substr(dash + 1));
    if (first && last && *last >= *first) count += static_cast<u32>(*last - *first + 1);
  }
  return count;
}

/// "key : value" lines of /proc/cpuinfo, the first of each key.
std::optional<std::string> cpuinfo(const std::string& sysroot, const std::string& key) {
  std::ifstream in(sysroot + "/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const auto colon = line.find(':');
    if (colon == std::string::npos || line.find_first_not_of(" \t", key.size()) != colon) continue;
    const auto value = line.find_first_not_of(' ', colon + 1);
    return value == std::string::npos ? "" : line.substr(value);
  }
  return std::nullopt;
}

bool has_word(const std::string& text, const std::string& word) {
  std::istringstream in(text);
  for (std::string w; in >> w;)
    if (w == word) return true;
  return false;
}

std::string signature_at(const cpuid_reader& cpuid, u32 leaf) {
  const auto r = cpuid(leaf);
  if (!r) return "";
  char text[13] = "";
  std::memcpy(text, &r->ebx, 4);
  std::memcpy(text + 4, &r->ecx, 4);
  std::memcpy(text + 8, &r->edx, 4);
  return text;
}

bool hypervisor_bit(const cpuid_reader& cpuid) {
  const auto r = cpuid(1);
  return r && (r->ecx >> 31) != 0;
}

std::string read_hypervisor(const std::string& sysroot, const cpuid_reader& cpuid) {
  if (hypervisor_bit(cpuid)) {
    const std::string text = signature_at(cpuid, hypervisor_leaf);
    for (const signature& s : signatures)
      if (text == s.text) return s.name;
    return text.empty() ? "unknown" : "unknown (\"" + text + "\")";
  }
  if (std::string type = line_of(sysroot + "/sys/hypervisor/type"); !type.empty()) return type;
  if (std::string type = line_of(sysroot + "/proc/device-tree/hypervisor/compatible");
      !type.empty())
    return type;
  // A copied tree has no CPUID, but the flag tells that there is one.
  if (has_word(cpuinfo(sysroot, "flags").value_or(""), "hypervisor")) return "unknown";
  return "none";
}

std::optional<kvm_facts> read_kvm(const cpuid_reader& cpuid) {
  if (!hypervisor_bit(cpuid)) return std::nullopt;
  for (const u32 base : {hypervisor_leaf, second_hypervisor_leaf}) {
    if (signature_at(cpuid, base) != "KVMKVMKVM") continue;
    const auto r = cpuid(base + 1);
    if (!r) return std::nullopt;
    // KVM_HINTS_REALTIME is bit 0 of EDX, KVM_FEATURE_POLL_CONTROL bit 12 of EAX
    // (Documentation/virt/kvm/x86/cpuid.rst).
    return kvm_facts{(r->edx & 1) != 0, (r->eax >> 12 & 1) != 0};
  }
  return std::nullopt;
}

/// CONFIG_HZ from the kernel's configuration; zlib reads plain files as well.
std::optional<u32> read_hz(const std::string& sysroot, const std::string& release) {
  for (const std::string& path :
       {sysroot + "/proc/config.gz", sysroot + "/boot/config-" + release}) {
    const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "r"), gzclose);
    if (!file) continue;
    char line[256];
    while (gzgets(file.get(), line, sizeof line) != nullptr) {
      std::string text(line);
      if (!text.starts_with("CONFIG_HZ=")) continue;
      text.erase(text.find_last_not_of('\n') + 1);
      if (const auto hz = number_of(text.substr(10))) return static_cast<u32>(*hz);
    }
  }
  return std::nullopt;
}

std::optional<double> read_steal(const std::string& sysroot) {
  std::istringstream in(line_of(sysroot + "/proc/stat"));
  std::string cpu;
  in >> cpu;
  // user nice system idle iowait irq softirq steal; guest times are contained in user.
  double total = 0, steal = 0, value = 0;
  int column = 0;
  for (; column < 8 && in >> value; ++column) {
    total += value;
    if (column == 7) steal = value;
  }
  if (cpu != "cpu" || column < 8 || total <= 0) return std::nullopt;
  return steal / total;
}

machine_facts read_machine(const std::string& sysroot, const cpuid_reader& cpuid) {
  machine_facts m;
  m.cpus = count_cpus(line_of(sysroot + "/sys/devices/system/cpu/online"));
  if (const auto name = cpuinfo(sysroot, "model name")) {
    m.model = *name;
  } else if (const auto implementer = cpuinfo(sysroot, "CPU implementer")) {
    m.model = fmt::format("implementer {} part {}", *implementer,
                          cpuinfo(sysroot, "CPU part").value_or("?"));
  }
  m.hypervisor = read_hypervisor(sysroot, cpuid);
  const std::string dmi = sysroot + "/sys/class/dmi/id/";
  m.product = line_of(dmi + "sys_vendor");
  if (const std::string product = line_of(dmi + "product_name"); !product.empty())
    m.product += (m.product.empty() ? "" : " ") + product;
  m.kernel = line_of(sysroot + "/proc/sys/kernel/osrelease");
  m.clock = line_of(sysroot + "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  m.hz = read_hz(sysroot, m.kernel);
  m.steal_share = read_steal(sysroot);
  return m;
}

std::string summarize(const idle_facts& i, bool guest, bool x86) {
  if (i.parameter == "idle=poll") return "idle=poll: never halts, burns every idle CPU";
  if (i.driver != "none")
    return fmt::format("cpuidle driver {}, governor {}", i.driver, i.governor);
  if (!x86) return "none: default_idle (WFI)";
  return i.mwait.value_or(false) && !guest ? "none: default idle (HLT or MWAIT)"
                                           : "none: default_idle (HLT)";
}

idle_facts read_idle(const std::string& sysroot, const cpuid_reader& cpuid, bool guest) {
  idle_facts i;
  const std::string cpuidle = sysroot + "/sys/devices/system/cpu/cpuidle/";
  i.driver = line_of(cpuidle + "current_driver");
  if (i.driver.empty()) i.driver = "none";
  i.governor = line_of(cpuidle + "current_governor_ro");
  if (i.governor.empty()) i.governor = line_of(cpuidle + "current_governor");
  std::error_code missing;
  for (const auto& entry :
       fs::directory_iterator(sysroot + "/sys/module/haltpoll/parameters", missing))
    i.haltpoll_parameters.emplace_back(entry.path().filename(), line_of(entry.path()));
  std::sort(i.haltpoll_parameters.begin(), i.haltpoll_parameters.end());
  std::istringstream cmdline(line_of(sysroot + "/proc/cmdline"));
  for (std::string word; cmdline >> word && word != "--";)
    if (word.starts_with("idle=")) i.parameter = word;
  const auto flags = cpuinfo(sysroot, "flags");
  if (flags) i.mwait = has_word(*flags, "monitor");
  i.kvm = read_kvm(cpuid);
  i.summary = summarize(i, guest, flags.has_value());
  return i;
}

/// One level of a control group: "quota period", "max period", or two files of version 1.
std::optional<quota_facts> quota_at(const std::string& sysroot, const std::string& directory) {
  std::string text = line_of(sysroot + directory + "/cpu.max");
  std::string file = directory + "/cpu.max";
  if (text.empty()) {
    file = directory + "/cpu.cfs_quota_us";
    text = line_of(sysroot + file) + " " + line_of(sysroot + directory + "/cpu.cfs_period_us");
  }
  std::istringstream in(text);
  std::string quota, period;
  in >> quota >> period;
  const auto q = number_of(quota),
             p = number_of(period);  // "max" and "-1" are no numbers: no limit
  if (!q || !p || *p == 0) return std::nullopt;
  return quota_facts{*q, *p, file};
}

std::optional<quota_facts> read_quota(const std::string& sysroot) {
  std::optional<quota_facts> tightest;
  std::ifstream in(sysroot + "/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    // "0::/path" (version 2) or "4:cpu,cpuacct:/path" (version 1)
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool unified = controllers.empty();
    if (!unified && ("," + controllers + ",").find(",cpu,") == std::string::npos) continue;
    const std::string mount = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/" + controllers;
    // Every level limits; in a container the path may lead out of what is mounted: missing levels
    // say nothing.
    for (fs::path path = line.substr(second + 1);; path = path.parent_path()) {
      const auto q = quota_at(sysroot, mount + (path == "/" ? "" : path.string()));
      if (q && (!tightest || q->quota_us * tightest->period_us < tightest->quota_us * q->period_us))
        tightest = q;
      if (path == path.parent_path()) break;
    }
  }
  return tightest;
}

}  // namespace

cpuid_reader this_cpu() {
#if defined(__x86_64__)
  return [](u32 leaf) -> std::optional<cpuid_registers> {
    cpuid_registers r{};
    __cpuid(leaf, r.eax, r.ebx, r.ecx, r.edx);
    return r;
  };
#else
  return no_cpuid();
#endif
}

cpuid_reader no_cpuid() {
  return [](u32) { return std::nullopt; };
}

facts read_facts(const std::string& sysroot, const cpuid_reader& cpuid) {
  facts f;
  f.machine = read_machine(sysroot, cpuid);
  f.idle = read_idle(sysroot, cpuid, f.machine.hypervisor != "none");
  f.quota = read_quota(sysroot);
  return f;
}

std::vector<std::string> lint(const facts& f) {
  std::vector<std::string> findings;
  const auto parameter = [&f](const char* name) -> std::optional<u64> {
    for (const auto& [key, value] : f.idle.haltpoll_parameters)
      if (key == name) return number_of(value);
    return std::nullopt;
  };
  const auto max = parameter("guest_halt_poll_ns"), start = parameter("guest_halt_poll_grow_start");
  // A maximum of 0 turns polling off; the start is then never reached.
  if (max && start && *max != 0 && *start > *max)
    findings.push_back(
        fmt::format("/sys/module/haltpoll/parameters: guest_halt_poll_grow_start {} is above "
                    "guest_halt_poll_ns {}: the first growth jumps to the limit and any long "
                    "idle period drops it to 0",
                    *start, *max));
  if (f.idle.parameter == "idle=poll")
    findings.push_back(
        "/proc/cmdline: idle=poll keeps every idle CPU busy; nothing polls better, nothing costs "
        "more");
  return findings;
}

}  // namespace haltpoll::cli
