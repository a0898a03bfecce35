#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <haltpoll/core/spec.hpp>
#include <haltpoll/cpu/clock.hpp>
#include <haltpoll/kernel/backend.hpp>

#include "files.hpp"

namespace haltpoll::kernel {
namespace {

// Tries of the exercise until every CPU has its passes: a timer or a neighbour may wake a CPU between ours.
constexpr u32 exercise_tries = 8;

std::string errno_text(int negative) { return std::strerror(-negative); }

constexpr const char* process_instead = "poll per process instead: haltpoll run -- COMMAND";

std::optional<refusal> attach_all(programs& p) {
  for (const place where : {place::exit, place::inner, place::entry, place::elided_interrupt}) {
    const int code = p.attach(where);
    if (code == 0) {
      if (where == place::inner) p.settings().inner_hook = 1;
      continue;
    }
    // Without it a halt that ends without a task is followed by a halt: fewer polls, nothing wrong.
    if (where == place::inner) continue;
    std::string detail = p.log();
    if (code == -EBUSY)
      detail =
          "another program or a live patch holds this function; a process that outlived a daemon "
          "may hold our own";
    return refusal{69, std::string("cannot attach at ") + name_of(where) + ": " + errno_text(code),
                   detail, "bpftool link shows who is attached"};
  }
  return std::nullopt;
}

bool all_seen(std::span<const cpu_record> records, const cpu_list& cpus) {
  return std::all_of(cpus.begin(), cpus.end(), [&](u32 cpu) {
    return cpu >= records.size() ||
           (records[cpu].entries >= calibration_passes && records[cpu].exits >= calibration_passes);
  });
}

/// What calibration found.
struct calibrated {
  flag_bits bits;
  u32 elided_permille = 0;  ///< of the wakes of idle CPUs, those that needed no interrupt
};

std::variant<calibrated, refusal> calibrate(programs& p, exerciser& cpus, const cpu_list& online,
                                            architecture arch) {
  const auto cannot = [](const std::string& why) {
    return refusal{69, "the NEED_RESCHED bit of this kernel cannot be told: " + why,
                   "polling with a wrong bit would delay wake-ups, so nothing is polled",
                   process_instead};
  };
  const std::span<cpu_record> records = p.cpus();
  for (cpu_record& r : records) {
    r.entry_flags = r.exit_flags = ~0ULL;
    r.entries = r.exits = 0;
  }
  u64 wakes = 0, elided = 0;
  for (u32 i = 0; i < exercise_tries && !all_seen(records, online); ++i) {
    std::atomic_ref(p.settings().calibrating).store(1);
    const std::string problem = cpus.exercise(online, calibration_passes);
    std::atomic_ref(p.settings().calibrating).store(0);
    if (!problem.empty()) return cannot(problem);
    wakes += online.size() * calibration_passes;
  }
  for (cpu_record& r : records) {
    elided += r.wakes_without_interrupt;
    r.wakes_without_interrupt = 0;
  }
  const auto found = deduce(observe(records), known_bits(arch));
  if (const auto* why = std::get_if<std::string>(&found)) return cannot(*why);
  return calibrated{std::get<flag_bits>(found),
                    wakes == 0 ? 0 : static_cast<u32>(std::min<u64>(1000, elided * 1000 / wakes))};
}

}  // namespace

backend::backend(programs& p, const start_options& o, const guarded_machine& m)
    : programs_(p), options_(o), machine_(m) {}

std::variant<std::unique_ptr<backend>, refusal> backend::start(const start_options& o,
                                                               surroundings s) {
  const probe_result probed = probe(s.probe_with, s.env);
  if (!probed.usable)
    return refusal{probed.exit_code, probed.summary, probed.detail, process_instead};
  if (auto no = refuse(o.guards, s.machine)) return *no;
  if (const int code = s.loaded.load(*probed.usable); code != 0)
    return refusal{69, "the kernel does not load our programs: " + errno_text(code), s.loaded.log(),
                   ""};
  std::unique_ptr<backend> b(
      new backend(s.loaded, o, s.machine));  // from here on undone by its destructor
  b->hook_ = *probed.usable;
  if (auto no = attach_all(s.loaded)) return *no;

  auto found = calibrate(s.loaded, s.cpus, s.machine.online, s.arch);
  if (auto* no = std::get_if<refusal>(&found)) return *no;
  const calibrated& c = std::get<calibrated>(found);
  // Half: the few wakes that come just before the halt are elided on every kernel.
  if (o.guards.mwait && c.elided_permille > 500)
    return refusal{69,
                   "idle CPUs are woken without an interrupt already: " +
                       std::to_string(c.elided_permille / 10) +
                       " % of wakes (MWAIT, idle=poll or a polling driver)",
                   "polling would add nothing but heat", "--guard-mwait=false starts all the same"};

  control& settings = b->settings();
  settings.governor = o.governor;
  settings.need_resched = c.bits.need_resched;
  settings.polling_flag = c.bits.polling;
  settings.mwait_seen = c.elided_permille;
  settings.hook = static_cast<u32>(b->hook_);
  settings.daemon_pid = static_cast<u32>(::getpid());
  settings.started_ns = cpu::now_ns();
  settings.max_pollers = o.guards.max_pollers;
  settings.max_polled_percent = o.guards.max_polled_percent;
  settings.steal_percent = o.guards.steal_percent;
  apply(o.guards, s.machine, b->cpus());
  if (!o.pins.empty()) {
    if (const int code = s.loaded.pin(o.pins); code != 0)
      return refusal{code == -EPERM || code == -EACCES ? 77 : 69, o.pins + ": " + errno_text(code),
                     "status, set and get find the maps there",
                     "is bpffs mounted on /sys/fs/bpf, with room for two files?"};
    b->pinned_ = true;
  }
  std::atomic_ref(settings.enabled).store(o.enabled ? 1 : 0);
  return b;
}

std::variant<std::unique_ptr<local_backend>, refusal> local_backend::start(const start_options& o) {
  auto local = std::make_unique<local_backend>();
  auto started = backend::start(o, {*local->probe_with_, read_environment(), *local->programs_,
                                    *local->cpus_, read_guarded_machine(), this_architecture()});
  if (auto* no = std::get_if<refusal>(&started)) return *no;
  local->backend_ = std::move(std::get<std::unique_ptr<backend>>(started));
  return local;
}

backend::~backend() {
  std::atomic_ref(settings().enabled).store(0);
  programs_.detach();
  if (pinned_) unpin(options_.pins);
}

void backend::tick(const std::string& sysroot) {
  if (const u32 pid = std::atomic_ref(settings().paused_by).load();
      pid != 0 && ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) {
    std::atomic_ref(settings().paused_by).store(0);
    std::atomic_ref(settings().enabled).store(options_.enabled ? 1 : 0);
  }
  steal_.tick(read_all(sysroot + "/proc/stat"), cpus(), settings().steal_percent);
  const auto online = parse_cpu_list(read_all(sysroot + "/sys/devices/system/cpu/online"));
  const auto* now = std::get_if<cpu_list>(&online);
  if (now == nullptr) return;  // said once a second it would be noise; the next tick reads it again
  // A CPU that was away starts afresh: what it learnt belongs to another time.
  for (const u32 cpu : *now)
    if (cpu < cpus().size() &&
        !std::binary_search(machine_.online.begin(), machine_.online.end(), cpu))
      cpus()[cpu].governor = {};
  machine_.online = *now;
}

}  // namespace haltpoll::kernel
