// status: what the kernel backend does on each CPU.
#include "status.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <haltpoll/cpu/clock.hpp>
#include <nlohmann/json.hpp>

#include "live.hpp"
#include "refused.hpp"
#include "subcommand.hpp"
#include "terminal.hpp"

namespace haltpoll::cli {

using json = nlohmann::ordered_json;

namespace {

double share(u64 part, u64 whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string hook_of(const kernel::control& c) {
  return fmt::format("{}/{}", kernel::name_of(static_cast<kernel::hook>(c.hook)),
                     kernel::idle_function);
}

json cpu_json(u32 cpu, const kernel::cpu_record& r, u64 uptime_ns) {
  json histogram = json::array();
  for (const u64 n : r.idle.count) histogram.push_back(n);
  return {{"cpu", cpu},
          {"idle_periods", r.periods},
          {"polls", r.polls},
          {"hits", r.hits},
          {"misses", r.misses},
          {"hits_without_task", r.hits_without_task},
          {"pending_at_entry", r.pending},
          {"wakes_without_interrupt", r.wakes_without_interrupt},
          {"halts", r.halts},
          {"halts_avoided", r.hits},
          {"window_ns", r.window_ns},
          {"window_cap_ns", r.window_cap_ns},
          {"polled_ns", r.polled_ns},
          {"idle_ns", r.idle_ns},
          {"polled_share", share(r.polled_ns, uptime_ns)},
          {"steal_permille", r.steal_permille},
          {"refused_by_share", r.refused_share},
          {"refused_by_pollers", r.refused_pollers},
          {"guards", kernel::describe(r)},
          {"idle_log2", histogram}};
}

}  // namespace

std::string status_json(const kernel::control& c, std::span<const kernel::cpu_record> cpus,
                        const kernel::cpu_list& online, u64 now_ns) {
  const u64 uptime_ns = now_ns - c.started_ns;
  json list = json::array();
  for (const u32 cpu : online)
    if (cpu < cpus.size()) list.push_back(cpu_json(cpu, cpus[cpu], uptime_ns));
  const json all = {{"schema", "haltpoll.status/1"},
                    {"running", true},
                    {"pid", c.daemon_pid},
                    {"uptime_ns", uptime_ns},
                    {"polling", c.enabled != 0},
                    {"hook", hook_of(c)},
                    {"inner_hook", c.inner_hook != 0},
                    {"need_resched_mask", c.need_resched},
                    {"polling_flag_mask", c.polling_flag},
                    {"governor", full_spec(c.governor)},
                    {"max_pollers", c.max_pollers},
                    {"max_polled_percent", c.max_polled_percent},
                    {"cpus", list}};
  return all.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string status_text(const kernel::control& c, std::span<const kernel::cpu_record> cpus,
                        const kernel::cpu_list& online, u64 now_ns) {
  const u64 uptime_ns = now_ns - c.started_ns;
  std::string out =
      layout({{"running", fmt::format("pid {}, for {} s", c.daemon_pid, uptime_ns / 1'000'000'000)},
              {"polling", c.enabled != 0 ? "yes" : "no: switched off by a running bench"},
              {"hook", hook_of(c) + (c.inner_hook != 0 ? ", arch_cpu_idle_exit" : "")},
              {"flags", c.polling_flag != 0
                            ? fmt::format("need_resched {:#x}, polling flag {:#x}", c.need_resched,
                                          c.polling_flag)
                            : fmt::format("need_resched {:#x}, no polling flag", c.need_resched)},
              {"governor", full_spec(c.governor)}});
  table rows = {{"CPU", "idle periods", "hits", "misses", "hits w/o task", "wakes w/o interrupt",
                 "halts", "window", "polled"}};
  for (const u32 cpu : online) {
    if (cpu >= cpus.size()) continue;
    const kernel::cpu_record& r = cpus[cpu];
    rows.push_back({std::to_string(cpu), std::to_string(r.periods), std::to_string(r.hits),
                    std::to_string(r.misses), std::to_string(r.hits_without_task),
                    std::to_string(r.wakes_without_interrupt), std::to_string(r.halts),
                    duration(r.window_ns),
                    fmt::format("{:.2f} %", 100 * share(r.polled_ns, uptime_ns))});
  }
  out += layout(rows);
  for (const u32 cpu : online)
    if (cpu < cpus.size())
      for (const std::string& line : kernel::describe(cpus[cpu]))
        out += fmt::format("CPU {}: {}\n", cpu, line);
  return out;
}

namespace {

std::function<int()> declare(CLI::App& app, const trailing&) {
  auto as_json = std::make_shared<bool>(false);
  app.add_flag("--json", *as_json, "one JSON object (haltpoll.status/1) on standard output");
  return [as_json] {
    const kernel::running r = running_backend();
    const kernel::cpu_list online = kernel::read_guarded_machine().online;
    const auto text = *as_json ? status_json : status_text;
    fmt::print("{}", text(r.settings(), r.cpus(), online, cpu::now_ns()));
    return 0;
  };
}

}  // namespace

const subcommand status_command = {
    "status", "[--json]", false,
    "what the kernel backend does on each CPU: hits, misses, window, guards and why", declare};

}  // namespace haltpoll::cli
