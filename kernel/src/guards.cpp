#include <algorithm>
#include <atomic>
#include <filesystem>
#include <haltpoll/core/spec.hpp>
#include <haltpoll/kernel/guards.hpp>
#include <iterator>
#include <sstream>
#include <string_view>

#include "files.hpp"

namespace haltpoll::kernel {
namespace {

/// A list the kernel wrote; a missing file is an empty one, and so is what some kernels print of a list that was never made.
cpu_list read_list(const std::string& path, std::string& unreadable) {
  std::string text = first_line(path);
  if (text.find("(null)") != std::string::npos) text.clear();
  auto list = parse_cpu_list(text);
  if (auto* read = std::get_if<cpu_list>(&list)) return std::move(*read);
  if (unreadable.empty()) unreadable = path + ": " + std::get<std::string>(list);
  return {};
}

/// What the kernel command line says about idling: the last idle=, or nohlt, which is its equal elsewhere than on x86. Behind "--"
/// it speaks to init.
std::string idle_parameter(const std::string& command_line) {
  std::string found;
  std::istringstream in(command_line);
  for (std::string word; in >> word && word != "--";)
    if (word.starts_with("idle=") || word == "nohlt") found = word;
  return found;
}

/// "MWAIT 0x00" (intel_idle), "ACPI FFH MWAIT 0x0" (acpi_idle); others say "ACPI HLT", "ACPI IOPORT 0x414", "default architecture
/// idle".
bool has_mwait_state(const std::string& cpuidle) {
  std::error_code none;
  for (const auto& state : std::filesystem::directory_iterator(cpuidle, none)) {
    const std::string text = first_line(state.path().string() + "/desc");
    if (text.find("MWAIT") != std::string::npos) return true;
  }
  return false;
}

// Clock sources that are read by a few instructions: the CPU's counter, as it is or scaled by a page that the hypervisor keeps. The
// others are registers of devices (hpet, acpi_pm) or of the hypervisor (hyperv_clocksource_msr), or stand still between ticks
// (jiffies). Xen's is slow for user space only, which has no vDSO for it.
constexpr std::string_view fast_clocks[] = {
    "tsc", "tsc-early", "kvm-clock", "hyperv_clocksource_tsc_page", "xen", "arch_sys_counter"};

struct text_of_guard {
  u32 bit;
  const char* text;
};
constexpr text_of_guard texts[] = {
    {guard::cpu_list, "cpus: not in the list, does not poll"},
    {guard::nohz_full, "nohz_full: isolated, does not poll"},
};

bool listed(const cpu_list& l, u32 cpu) { return std::binary_search(l.begin(), l.end(), cpu); }

std::string percent(u32 permille) {
  return std::to_string(permille / 10) + "." + std::to_string(permille % 10) + " %";
}

}  // namespace

guarded_machine read_guarded_machine(const std::string& sysroot) {
  const std::string cpu = sysroot + "/sys/devices/system/cpu";
  guarded_machine m;
  m.cpuidle_driver = first_line(cpu + "/cpuidle/current_driver");
  m.cpuidle_governor = first_line(cpu + "/cpuidle/current_governor");
  if (m.cpuidle_governor.empty())
    m.cpuidle_governor = first_line(cpu + "/cpuidle/current_governor_ro");
  if (m.cpuidle_driver.empty()) m.cpuidle_driver = "none";
  m.clocksource =
      first_line(sysroot + "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  m.idle_parameter = idle_parameter(first_line(sysroot + "/proc/cmdline"));
  m.online = read_list(cpu + "/online", m.unreadable);
  m.nohz_full = read_list(cpu + "/nohz_full", m.unreadable);
  m.isolated = read_list(cpu + "/isolated", m.unreadable);
  // Without a driver no state is in use; CPU 0 need not have what others have.
  m.mwait_state = m.cpuidle_driver != "none" && std::ranges::any_of(m.online, [&cpu](u32 n) {
                    return has_mwait_state(cpu + "/cpu" + std::to_string(n) + "/cpuidle");
                  });
  return m;
}

std::optional<refusal> refuse(const guard_options& o, const guarded_machine& m) {
  const auto overridden = [](const char* key) {
    return std::string("--") + key + "=false starts all the same";
  };
  if (!m.unreadable.empty()) return refusal{69, m.unreadable, "", ""};
  if (o.cpus)
    if (const std::string why = not_online(*o.cpus, m.online); !why.empty())
      return refusal{64, "cpus: " + why, "", ""};
  if (o.haltpoll && m.cpuidle_driver != "none" &&
      (m.cpuidle_driver == "haltpoll" || m.cpuidle_governor == "haltpoll"))
    return refusal{69,
                   "the kernel's own haltpoll polls already (cpuidle driver " + m.cpuidle_driver +
                       ", governor " + m.cpuidle_governor + ")",
                   "two would poll one after the other", overridden("guard-haltpoll")};
  if (o.mwait && (m.idle_parameter == "idle=poll" || m.idle_parameter == "nohlt"))
    return refusal{69,
                   m.idle_parameter + " is on the kernel's command line: idle CPUs spin already",
                   "", overridden("guard-mwait")};
  if (o.mwait && m.mwait_state)
    return refusal{69,
                   "idle CPUs wait by MWAIT (cpuidle driver " + m.cpuidle_driver +
                       "), which wakers need not interrupt",
                   "polling would only save the exit from the idle state",
                   overridden("guard-mwait")};
  if (o.clock && std::find(std::begin(fast_clocks), std::end(fast_clocks), m.clocksource) ==
                     std::end(fast_clocks))
    return refusal{
        69,
        "clock source " + (m.clocksource.empty() ? "unknown" : m.clocksource) +
            ": reading it leaves the guest, which costs as much as the halt that polling saves",
        "", "boot with a TSC or kvm-clock; " + overridden("guard-clock")};
  return std::nullopt;
}

std::string not_online(const cpu_list& wanted, const cpu_list& online) {
  for (const u32 cpu : wanted)
    if (!listed(online, cpu))
      return "CPU " + std::to_string(cpu) + " is not online; there are " + to_string(online);
  return "";
}

void limit_to(const cpu_list& cpus, std::span<cpu_record> records) {
  for (u32 cpu = 0; cpu < records.size(); ++cpu) {
    std::atomic_ref guards(records[cpu].guards);
    if (listed(cpus, cpu))
      guards.fetch_and(~guard::cpu_list, std::memory_order_relaxed);
    else
      guards.fetch_or(guard::cpu_list, std::memory_order_relaxed);
  }
}

void apply(const guard_options& o, const guarded_machine& m, std::span<cpu_record> records) {
  for (u32 cpu = 0; cpu < records.size(); ++cpu) {
    const bool excluded = o.nohz_full && (listed(m.nohz_full, cpu) || listed(m.isolated, cpu));
    records[cpu].window_cap_ns = core::spec::hard_cap_ns;
    std::atomic_ref(records[cpu].guards)
        .store(excluded ? guard::nohz_full : 0, std::memory_order_relaxed);
  }
  if (o.cpus) limit_to(*o.cpus, records);
}

std::vector<std::string> describe(const cpu_record& r) {
  std::vector<std::string> lines;
  const u32 bits = std::atomic_ref(const_cast<u32&>(r.guards)).load(std::memory_order_relaxed);
  for (const text_of_guard& t : texts)
    if ((bits & t.bit) != 0) lines.emplace_back(t.text);
  if ((bits & guard::steal) != 0)
    lines.push_back("steal: the host took " + percent(r.steal_permille) +
                    " of its time, window at most " + std::to_string(r.window_cap_ns) + " ns");
  if (r.refused_share != 0)
    lines.push_back("max_polled_percent: " + std::to_string(r.refused_share) + " polls not begun");
  if (r.refused_pollers != 0)
    lines.push_back("max_pollers: " + std::to_string(r.refused_pollers) + " polls not begun");
  return lines;
}

}  // namespace haltpoll::kernel
