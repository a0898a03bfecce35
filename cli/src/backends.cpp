#include "backends.hpp"

#include <dlfcn.h>
#include <fmt/core.h>
#include <gnu/libc-version.h>

#include <haltpoll/cpu/clock.hpp>
#include <haltpoll/cpu/monitor_wait.hpp>
#include <haltpoll/kernel/backend.hpp>
#include <haltpoll/kernel/running.hpp>
#include <haltpoll/process/launch.hpp>

namespace haltpoll::cli {
namespace {

std::string flags_text(u64 need_resched, u64 polling) {
  return fmt::format(
      "need_resched {:#x}, {}", need_resched,
      polling != 0
          ? fmt::format("polling flag {:#x}: wakes of polling CPUs need no interrupt", polling)
          : std::string(
                "no polling flag: every wake sends its interrupt, polling saves the halt alone"));
}

void take(backend& b, const kernel::control& c) {
  b.found = kernel_findings{kernel::name_of(static_cast<kernel::hook>(c.hook)), c.need_resched,
                            c.polling_flag};
  b.details.push_back(flags_text(c.need_resched, c.polling_flag));
}

/// Everything a start would do, without polling; undone before it returns.
backend try_kernel() {
  kernel::start_options o;
  o.pins = "";
  o.enabled = false;
  auto started = kernel::local_backend::start(o);
  if (const auto* no = std::get_if<kernel::refusal>(&started)) {
    backend b{"kernel", false, no->what, {}, no->hint, std::nullopt};
    if (!no->detail.empty()) b.details.push_back(no->detail);
    return b;
  }
  const kernel::backend& running = **std::get<std::unique_ptr<kernel::local_backend>>(started);
  backend b{"kernel",
            true,
            fmt::format("{}/{} loads, attaches and was calibrated",
                        kernel::name_of(running.entry_hook()), kernel::idle_function),
            {},
            "",
            std::nullopt};
  take(b, running.settings());
  if (running.settings().inner_hook == 0)
    b.details.push_back(
        "arch_cpu_idle_exit does not attach: after an interrupt without work a CPU halts without a "
        "poll");
  return b;
}

backend probe_kernel(const facts&) {
  const auto pid = kernel::daemon_pid();
  if (!pid) return try_kernel();
  backend b{"kernel", true, fmt::format("at work: pid {} (haltpoll status)", *pid),
            {},       "",   std::nullopt};
  auto opened = kernel::running::open();
  if (const auto* r = std::get_if<kernel::running>(&opened))
    take(b, r->settings());
  else
    b.details.push_back(std::get<kernel::refusal>(opened).what);
  return b;
}

backend probe_process(const facts& f) {
  std::vector<std::string> looked_at;
  const std::string library = process::preload_library(&looked_at);
  if (library.empty())
    return {"process",
            false,
            "libhaltpoll_preload.so is not there; looked at",
            looked_at,
            "HALTPOLL_PRELOAD_LIBRARY names it elsewhere",
            std::nullopt};
  backend b{"process", true, library, {}, "", std::nullopt};
  // glibc exports it since 2.35; 0 where the kernel or a tunable said no.
  const auto* rseq = static_cast<const unsigned*>(dlsym(RTLD_DEFAULT, "__rseq_size"));
  b.details.push_back(fmt::format("glibc {}, restartable sequences {}", gnu_get_libc_version(),
                                  rseq != nullptr && *rseq != 0 ? "registered" : "not registered"));
  if (f.quota)
    b.details.push_back(fmt::format(
        "{} grants {} us of CPU time per {} us: polling would use it up and is off unless forced",
        f.quota->file, f.quota->quota_us, f.quota->period_us));
  return b;
}

backend probe_wait(const facts&) {
  const cpu::monitor_wait& best = cpu::best_monitor_wait();
  return {"wait",
          true,
          fmt::format("{}: {}", best.name, best.description),
          {fmt::format("clock {}", cpu::clock_source())},
          "",
          std::nullopt};
}

}  // namespace

std::vector<backend> probe_backends(const facts& f) {
  return {probe_kernel(f), probe_process(f), probe_wait(f)};
}

}  // namespace haltpoll::cli
