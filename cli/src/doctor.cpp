#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "backends.hpp"
#include "facts.hpp"
#include "failure.hpp"
#include "subcommand.hpp"
#include "terminal.hpp"
#include "wake_cost.hpp"

namespace haltpoll::cli {
namespace {

using json = nlohmann::ordered_json;

// A choice: kernel threads take a CPU some 15 times a second here, a build beside us hundreds of times.
constexpr core::u64 quiet_interruptions = 50;

struct options {
  bool json = false, no_measure = false;
  std::string sysroot;
};

/// Everything doctor says, before it is known how.
struct diagnosis {
  facts machine;
  std::vector<backend> backends;              ///< empty for a copied tree
  std::variant<std::string, wake_cost> wake;  ///< or why it was not measured
  std::vector<std::string> findings;
};

diagnosis examine(const options& o) {
  if (!o.sysroot.empty() && !std::filesystem::is_directory(o.sysroot))
    throw failure(exit_code::usage, fmt::format("--sysroot: {} is not a directory", o.sysroot));
  diagnosis d;
  d.machine = read_facts(o.sysroot, o.sysroot.empty() ? this_cpu() : no_cpuid());
  d.findings = lint(d.machine);
  if (!o.sysroot.empty()) {
    d.wake = "not measured: --sysroot is a copy of another machine";
    return d;
  }
  d.backends = probe_backends(d.machine);
  if (o.no_measure) {
    d.wake = "not measured: --no-measure";
    return d;
  }
  std::visit([&d](auto&& result) { d.wake = result; }, measure_wake_cost());
  return d;
}

std::string yes(bool b) { return b ? "yes" : "no"; }

std::string verdict(const wake_cost& w) {
  if (!w.worth) return "nothing to win here: polling is not faster than noise";
  return fmt::format("polling can make such round trips {:.1f} times faster", w.round_trip.median);
}

json to_json(const wake_cost& w) {
  json rows = json::array();
  for (const wake_row& r : w.rows)
    rows.push_back({{"idle_ns", r.idle_ns},
                    {"halted_p50_ns", r.halted.p50_ns},
                    {"halted_p90_ns", r.halted.p90_ns},
                    {"polling_p50_ns", r.polling.p50_ns},
                    {"polling_p90_ns", r.polling.p90_ns},
                    {"waker_p50_ns", r.waker_ns}});
  const gain& g = w.round_trip;
  return {{"by_other_cpu", rows},
          {"timer", {{"late_p50_ns", w.timer.p50_ns}, {"late_p90_ns", w.timer.p90_ns}}},
          {"round_trip",
           {{"blocking_p50_ns", g.blocking.p50_ns},
            {"polling_p50_ns", g.polling.p50_ns},
            {"speedup", {{"median", g.median}, {"low", g.low}, {"high", g.high}}}}},
          {"worth", w.worth},
          {"interruptions", w.interruptions},
          {"verdict", verdict(w)}};
}

template <class T>
json or_null(const std::optional<T>& v) {
  return v ? json(*v) : json();
}

json to_json(const diagnosis& d) {
  const machine_facts& m = d.machine.machine;
  const idle_facts& i = d.machine.idle;
  json parameters = json::object();
  for (const auto& [name, value] : i.haltpoll_parameters) parameters[name] = value;
  json kvm;
  if (i.kvm) kvm = {{"realtime_hint", i.kvm->realtime_hint}, {"poll_control", i.kvm->poll_control}};
  json quota;
  if (const auto& q = d.machine.quota)
    quota = {
        {"quota_ns", q->quota_us * 1000}, {"period_ns", q->period_us * 1000}, {"file", q->file}};
  json backends = json::array();
  for (const backend& b : d.backends) {
    json one = {{"name", b.name},
                {"possible", b.possible},
                {"reason", b.reason},
                {"details", b.details},
                {"hint", b.hint}};
    if (b.found) {
      one["hook"] = b.found->hook;
      one["need_resched_mask"] = b.found->need_resched;
      one["polling_flag_mask"] = b.found->polling_flag;
    }
    backends.push_back(one);
  }
  const auto* wake = std::get_if<wake_cost>(&d.wake);
  return {
      {"schema", "haltpoll.doctor/1"},
      {"machine",
       {{"cpus", m.cpus},
        {"model", m.model},
        {"hypervisor", m.hypervisor},
        {"product", m.product},
        {"kernel", m.kernel},
        {"clock", m.clock},
        {"hz", or_null(m.hz)},
        {"steal_share", or_null(m.steal_share)}}},
      {"idle",
       {{"summary", i.summary},
        {"driver", i.driver},
        {"governor", i.governor},
        {"parameter", i.parameter},
        {"mwait", or_null(i.mwait)},
        {"kvm", kvm},
        {"haltpoll_in_use", i.haltpoll_in_use()},
        {"haltpoll_parameters", parameters}}},
      {"quota", quota},
      {"backends", backends},
      {"wake", wake != nullptr ? to_json(*wake)
                               : json::object({{"not_measured", std::get<std::string>(d.wake)}})},
      {"findings", d.findings}};
}

std::string or_unknown(const std::string& text) { return text.empty() ? "unknown" : text; }

table machine_table(const facts& f) {
  const machine_facts& m = f.machine;
  table t = {
      {"CPUs", fmt::format("{}, {}", m.cpus, or_unknown(m.model))},
      {"hypervisor", m.hypervisor + (m.product.empty() ? "" : " (" + m.product + ")")},
      {"kernel", fmt::format("{}, HZ {}, clock {}", or_unknown(m.kernel),
                             m.hz ? std::to_string(*m.hz) : "unknown", or_unknown(m.clock))}};
  if (m.steal_share)
    t.push_back({"steal", fmt::format("{:.1f} % of CPU time since boot", 100 * *m.steal_share)});
  t.push_back({"CPU quota", f.quota ? fmt::format("{} us per {} us ({})", f.quota->quota_us,
                                                  f.quota->period_us, f.quota->file)
                                    : "none"});
  return t;
}

table idle_table(const idle_facts& i) {
  table t = {{"idle CPU", i.summary}};
  if (i.mwait) t.push_back({"MWAIT", *i.mwait ? "exposed" : "not exposed"});
  if (i.kvm)
    t.push_back({"KVM", fmt::format("realtime hint {}, host poll control {}",
                                    yes(i.kvm->realtime_hint), yes(i.kvm->poll_control))});
  if (i.kvm && !i.kvm->realtime_hint && i.driver == "none")
    t.push_back(
        {"", "without the realtime hint the kernel's haltpoll driver does not load by itself"});
  for (size_t n = 0; n < i.haltpoll_parameters.size(); ++n) {
    const auto& [name, value] = i.haltpoll_parameters[n];
    const std::string label = n != 0                ? ""
                              : i.haltpoll_in_use() ? "haltpoll"
                                                    : "haltpoll, not in use";
    t.push_back({label, name + " " + value});
  }
  return t;
}

table backend_table(const std::vector<backend>& backends) {
  table t;
  for (const backend& b : backends) {
    t.push_back({b.name, yes(b.possible), b.reason});
    for (const std::string& line : b.details) t.push_back({"", "", line});
    if (!b.hint.empty()) t.push_back({"", "", "hint: " + b.hint});
  }
  return t;
}

std::string p50_p90(const latency& l) {
  return fmt::format("{} ({})", duration(l.p50_ns), duration(l.p90_ns));
}

std::string wake_text(const wake_cost& w) {
  table t = {{"woken by", "halted, p50 (p90)", "polling, p50 (p90)", "waker's own cost"}};
  for (const wake_row& r : w.rows)
    t.push_back({fmt::format("another CPU, idle {} us", r.idle_ns / 1000), p50_p90(r.halted),
                 p50_p90(r.polling), duration(r.waker_ns)});
  t.push_back({"a timer, idle 300 us", p50_p90(w.timer)});
  const gain& g = w.round_trip;
  t.push_back({"pipe round trip", p50_p90(g.blocking), p50_p90(g.polling),
               fmt::format("{:.1f}x ({:.1f}..{:.1f})", g.median, g.low, g.high)});
  std::string out = layout(t, "  ") + "  " + verdict(w) + "\n";
  if (w.interruptions > quiet_interruptions)
    out += fmt::format(
        "  other work took the CPUs away {} times meanwhile: measure again when it is quiet\n",
        w.interruptions);
  return out;
}

std::string to_text(const diagnosis& d) {
  std::string out = heading("machine") + "\n" + layout(machine_table(d.machine), "  ");
  out += heading("what idles it today") + "\n" + layout(idle_table(d.machine.idle), "  ");
  if (!d.backends.empty())
    out += heading("backends") + "\n" + layout(backend_table(d.backends), "  ");
  out += heading("what a wake costs") + "\n";
  if (const auto* wake = std::get_if<wake_cost>(&d.wake))
    out += wake_text(*wake);
  else
    out += "  " + std::get<std::string>(d.wake) + "\n";
  for (const std::string& f : d.findings) out += "warning: " + f + "\n";
  return out;
}

int execute(const options& o) {
  const diagnosis d = examine(o);
  if (o.json)
    fmt::print("{}\n", to_json(d).dump(2, ' ', false, json::error_handler_t::replace));
  else
    fmt::print("{}", to_text(d));
  return 0;
}

std::function<int()> declare(CLI::App& app, const trailing&) {
  auto o = std::make_shared<options>();
  app.add_flag("--json", o->json, "one JSON object (haltpoll.doctor/1) on standard output");
  app.add_flag("--no-measure", o->no_measure,
               "leave out the wake measurement (two seconds, two CPUs)");
  app.add_option(
         "--sysroot", o->sysroot,
         "read a copy of another machine's /proc, /sys and /boot; tries and measures nothing")
      ->option_text("DIR");
  return [o] { return execute(*o); };
}

}  // namespace

const subcommand doctor_command = {
    "doctor", "[--json] [--no-measure]", false,
    "what this machine is, what idles it, what each backend can do, what a wake costs", declare};

}  // namespace haltpoll::cli
