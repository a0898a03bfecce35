#pragma once
// guards: when polling would do harm, and what then. Three kinds: conditions of the machine under which the backend does not
// start (unless told to), CPUs that it leaves alone, and limits that follow the load while it runs.
//
// The limits on polled share and on CPUs polling at once are kept by the programs (maps.hpp); steal time is followed here, once
// a second, because only user space can read it.
#include <haltpoll/kernel/maps.hpp>
#include <haltpoll/kernel/refusal.hpp>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace haltpoll::kernel {

/// CPU numbers, rising.
using cpu_list = std::vector<u32>;
/// "0-3,8" as the kernel writes it; "" is none. Otherwise one line: what is wrong where.
std::variant<cpu_list, std::string> parse_cpu_list(const std::string& text);
std::string to_string(const cpu_list& cpus);

/// Every guard can be switched off. Names as in the configuration.
struct guard_options {
  std::optional<cpu_list> cpus;  ///< cpus: only these poll; nothing: all but those under nohz_full
  bool nohz_full = true;         ///< guard_nohz_full: CPUs under nohz_full or isolcpus do not poll
  bool haltpoll = true;          ///< guard_haltpoll: refuse where the kernel's own haltpoll polls
  bool mwait =
      true;  ///< guard_mwait: refuse where idle CPUs are woken without an interrupt anyway (MWAIT, idle=poll)
  bool clock = true;  ///< guard_clock: refuse where reading the clock leaves the guest
  u32 steal_percent =
      5;  ///< guard_steal: stolen share of a CPU's time above which its window is halved; 0: off
  u32 max_pollers = 0;         ///< max_pollers: CPUs that may poll at once; 0: no limit
  u32 max_polled_percent = 0;  ///< max_polled_percent: of a CPU's time; 0: no limit
};

/// What the guards look at, read once at the start. Everything below `sysroot`.
struct guarded_machine {
  std::string cpuidle_driver, cpuidle_governor;  ///< "none", "" where there is none
  std::string clocksource;
  std::string idle_parameter;  ///< "idle=..." or "nohlt" of the kernel command line
  cpu_list online, nohz_full, isolated;
  /// A cpuidle state enters by MWAIT: its `desc` says so. CPUID does not decide: QEMU shows the flag and the kernel halts all the same.
  bool mwait_state = false;
  std::string unreadable;  ///< a list above that makes no sense, and why; empty: none
};
guarded_machine read_guarded_machine(const std::string& sysroot = "");

/// The first reason not to start at all, with the key that overrides it in the hint.
std::optional<refusal> refuse(const guard_options& o, const guarded_machine& m);

/// The first CPU of `wanted` that is not online, as one line; empty: all are.
std::string not_online(const cpu_list& wanted, const cpu_list& online);
/// Puts guard::cpu_list on every record but those of `cpus`, and leaves other guards alone.
void limit_to(const cpu_list& cpus, std::span<cpu_record> records);
/// Sets guards and window caps of every record from the options (CPU list, nohz_full).
void apply(const guard_options& o, const guarded_machine& m, std::span<cpu_record> records);

/// Follows steal time. Above the limit a CPU's cap halves at each tick, and below 1 us becomes 0; after ten calm ticks in
/// a row (at most half the limit) it doubles at each further one, up to hard_cap_ns again.
class steal_guard {
 public:
  /// `proc_stat`: the text of /proc/stat now; a `limit_percent` of 0 lifts the guard and goes on measuring. Changes caps, guard bits and
  /// steal_permille of `records`.
  void tick(const std::string& proc_stat, std::span<cpu_record> records, u32 limit_percent);

 private:
  struct cpu_time {
    u64 total = 0, steal = 0;
    u32 calm_ticks = 0;
  };
  std::vector<cpu_time> last_;
};

/// Texts of the guard bits in force, one line each, for status.
std::vector<std::string> describe(const cpu_record& r);

}  // namespace haltpoll::kernel
