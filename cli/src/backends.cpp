#include "backends.hpp"

#include <dlfcn.h>
#include <fmt/core.h>
#include <gnu/libc-version.h>

#include <haltpoll/cpu/clock.hpp>
#include <haltpoll/cpu/monitor_wait.hpp>
#include <haltpoll/kernel/probe.hpp>
#include <haltpoll/process/launch.hpp>

namespace haltpoll::cli {
namespace {

backend probe_kernel(const facts& f) {
  const auto bpf = kernel::libbpf_adapter();
  const kernel::probe_result r = kernel::probe(*bpf, kernel::read_environment());
  backend b{"kernel", r.usable.has_value(), r.summary, {}, ""};
  if (!r.detail.empty()) b.details.push_back(r.detail);
  if (f.idle.haltpoll_in_use())
    b.details.push_back(
        "the kernel's own haltpoll governor is at work already: two would poll one after the "
        "other");
  if (!r.usable) b.hint = "poll per process instead: haltpoll run -- COMMAND";
  return b;
}

backend probe_process(const facts& f) {
  std::vector<std::string> looked_at;
  const std::string library = process::preload_library(&looked_at);
  if (library.empty())
    return {"process", false, "libhaltpoll_preload.so is not there; looked at", looked_at,
            "HALTPOLL_PRELOAD_LIBRARY names it elsewhere"};
  backend b{"process", true, library, {}, ""};
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
          ""};
}

}  // namespace

std::vector<backend> probe_backends(const facts& f) {
  return {probe_kernel(f), probe_process(f), probe_wait(f)};
}

}  // namespace haltpoll::cli
