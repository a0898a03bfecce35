#pragma once
// machine: the facts about this machine without which a benchmark figure means nothing, and whether
// it was quiet while the figures were taken. Reads /proc and /sys only; changes nothing.
#include <haltpoll/core/types.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace haltpoll::bench {

using core::u64;

/// What the report says about the machine. A fact that the machine does not tell is "unknown".
struct machine {
  int cpus = 0;  ///< CPUs this process may run on
  std::string model;
  std::string hypervisor;  ///< "none" outside a guest; the signature of CPUID leaf 0x40000000
  std::string kernel;
  std::string clocksource;
  std::string cpuidle_driver;  ///< "none" where the kernel has no driver and simply halts
  double load_before = 0;      ///< load average over one minute, as the run began
  double steal_percent = 0;    ///< share of all CPUs' time that the host gave to others, during it

  /// Quiet enough for figures to be compared with others. Ratios of alternating arms survive some
  /// noise; absolute times do not.
  bool quiet() const { return load_before < quiet_load && steal_percent < quiet_steal_percent; }
  /// A resting 2-CPU guest shows 0.00 to 0.3; one build job 1.0.
  static constexpr double quiet_load = 0.5;
  /// A guest alone on its host shows 0.0 to 0.2 %.
  static constexpr double quiet_steal_percent = 1.0;
};

/// The facts that do not change. `root` stands before every path (tests); steal is left at 0.
machine read_machine(const std::string& root = "");

/// Jiffies of all CPUs together since boot: all of them, and the stolen ones.
struct cpu_time {
  u64 total = 0, steal = 0;
};
/// From /proc/stat; nothing if it cannot be read.
std::optional<cpu_time> read_cpu_time(const std::string& root = "");
/// Stolen share between two readings, percent.
double steal_percent(const cpu_time& from, const cpu_time& to);

/// CPUs this process may run on, rising.
std::vector<int> allowed_cpus();
/// Two CPUs for a load of two sides: two cores if there is a choice, because hardware threads of
/// one core share its execution units and a polling one slows the other; else the first two.
/// Nothing if fewer than two are allowed.
std::optional<std::pair<int, int>> choose_pair(const std::vector<int>& allowed,
                                               const std::string& root = "");

}  // namespace haltpoll::bench
