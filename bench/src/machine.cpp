#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <haltpoll/bench/machine.hpp>
#include <sstream>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace haltpoll::bench {
namespace {

/// First line of a file, or `otherwise`.
std::string first_line(const std::string& path, const std::string& otherwise) {
  std::ifstream in(path);
  std::string line;
  return std::getline(in, line) && !line.empty() ? line : otherwise;
}

/// The value after "KEY : " in /proc/cpuinfo, of the first CPU; empty if there is none.
std::string cpuinfo(const std::string& root, const std::string& key) {
  std::ifstream in(root + "/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

/// x86 has a name; arm64 has numbers (MIDR) only, which lscpu looks up.
std::string model(const std::string& root) {
  if (std::string name = cpuinfo(root, "model name"); !name.empty()) return name;
  const std::string maker = cpuinfo(root, "CPU implementer");
  if (maker.empty()) return "unknown";
  return "implementer " + maker + " part " + cpuinfo(root, "CPU part");
}

std::string hypervisor(const std::string& root) {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned present = 1U << 31;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & present) == 0) return "none";
  __cpuid(0x40000000, a, b, c, d);
  char name[13] = {};
  std::memcpy(name, &b, 4), std::memcpy(name + 4, &c, 4), std::memcpy(name + 8, &d, 4);
  struct known {
    const char *signature, *text;
  };
  constexpr known table[] = {{"KVMKVMKVM", "KVM"},         {"VMwareVMware", "VMware"},
                             {"Microsoft Hv", "Hyper-V"},  {"XenVMMXenVMM", "Xen"},
                             {"TCGTCGTCGTCG", "QEMU TCG"}, {"PVMPVMPVM", "PVM"}};
  for (const known& k : table)
    if (std::strcmp(name, k.signature) == 0) return k.text;
  return name[0] != '\0' ? name : "unknown";
#endif
  return first_line(root + "/sys/hypervisor/type", "unknown");
}

}  // namespace

machine read_machine(const std::string& root) {
  machine m;
  m.cpus = static_cast<int>(allowed_cpus().size());
  m.model = model(root);
  m.hypervisor = hypervisor(root);
  utsname u{};
  m.kernel = ::uname(&u) == 0 ? u.release : "unknown";
  m.clocksource = first_line(
      root + "/sys/devices/system/clocksource/clocksource0/current_clocksource", "unknown");
  m.cpuidle_driver = first_line(root + "/sys/devices/system/cpu/cpuidle/current_driver", "none");
  std::istringstream(first_line(root + "/proc/loadavg", "")) >> m.load_before;
  return m;
}

std::optional<cpu_time> read_cpu_time(const std::string& root) {
  std::istringstream line(first_line(root + "/proc/stat", ""));
  std::string name;
  line >> name;
  if (name != "cpu") return {};
  // user nice system idle iowait irq softirq steal; guest times after it are part of user.
  cpu_time t;
  for (int column = 0; column < 8; ++column) {
    u64 value = 0;
    if (!(line >> value)) return {};
    t.total += value;
    if (column == 7) t.steal = value;
  }
  return t;
}

double steal_percent(const cpu_time& from, const cpu_time& to) {
  if (to.total <= from.total || to.steal < from.steal) return 0;  // no jiffy passed
  return 100.0 * static_cast<double>(to.steal - from.steal) /
         static_cast<double>(to.total - from.total);
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

std::optional<std::pair<int, int>> choose_pair(const std::vector<int>& allowed,
                                               const std::string& root) {
  if (allowed.size() < 2) return {};
  const auto siblings = [&root](int cpu) {
    return first_line(root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                          "/topology/thread_siblings_list",
                      std::to_string(cpu));
  };
  const std::string first = siblings(allowed.front());
  const auto other = std::find_if(allowed.begin() + 1, allowed.end(),
                                  [&](int cpu) { return siblings(cpu) != first; });
  return std::pair{allowed.front(), other != allowed.end() ? *other : allowed[1]};
}

}  // namespace haltpoll::bench
