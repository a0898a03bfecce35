#include "settings.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <haltpoll/core/spec.hpp>

namespace haltpoll::cli {
namespace {

constexpr u32 any_number = 8192;  // CPUs that a kernel can have

constexpr kernel_setting table[] = {
    {"cpus", value_kind::cpus, 0, true, "only these CPUs poll, such as 0-3,8"},
    {"guard_steal", value_kind::number, 100, true,
     "percent of a CPU's time that the host may take before its window is halved; 0: off"},
    {"max_pollers", value_kind::number, any_number, true,
     "CPUs that may poll at once; 0: no limit"},
    {"max_polled_percent", value_kind::number, 100, true,
     "share of a CPU's time that may be polled; 0: no limit"},
    {"guard_nohz_full", value_kind::boolean, 0, false,
     "CPUs under nohz_full or isolcpus do not poll"},
    {"guard_haltpoll", value_kind::boolean, 0, false,
     "do not start where the kernel's own haltpoll polls"},
    {"guard_mwait", value_kind::boolean, 0, false,
     "do not start where idle CPUs are woken without an interrupt already (MWAIT, idle=poll)"},
    {"guard_clock", value_kind::boolean, 0, false,
     "do not start where reading the clock leaves the guest"},
    {"host_poll_control", value_kind::boolean, 0, false,
     "switch the KVM host's own halt polling off meanwhile (MSR 0x4b564d05)"},
};
static_assert(std::size(table) + core::spec::key_count + 1 <= kernel::origin_count);

bool* boolean_in(kernel::daemon_options& o, std::string_view name) {
  kernel::guard_options& g = o.start.guards;
  if (name == "guard_nohz_full") return &g.nohz_full;
  if (name == "guard_haltpoll") return &g.haltpoll;
  if (name == "guard_mwait") return &g.mwait;
  if (name == "guard_clock") return &g.clock;
  return &o.host_poll_control;
}

u32* number_in(kernel::daemon_options& o, std::string_view name) {
  kernel::guard_options& g = o.start.guards;
  if (name == "guard_steal") return &g.steal_percent;
  if (name == "max_pollers") return &g.max_pollers;
  return &g.max_polled_percent;
}

std::string with(std::string_view name, char from, char to, bool upper) {
  std::string text(name);
  for (char& c : text) {
    if (c == from) c = to;
    if (upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return text;
}

}  // namespace

std::span<const kernel_setting> kernel_settings() { return table; }

const kernel_setting* find_kernel_setting(std::string_view name) {
  for (const kernel_setting& s : table)
    if (name == s.name) return &s;
  return nullptr;
}

std::string flag_of(const kernel_setting& s) { return "--" + with(s.name, '_', '-', false); }
std::string variable_of(const kernel_setting& s) {
  return "HALTPOLL_" + with(s.name, '_', '_', true);
}

kernel_value parse_kernel_value(const kernel_setting& s, const setting<std::string>& text,
                                int code) {
  kernel_value v;
  switch (s.kind) {
    case value_kind::boolean:
      if (text.value != "true" && text.value != "false")
        throw failure(code,
                      fmt::format("{}: \"{}\" is neither true nor false", text.origin, text.value));
      v.on = text.value == "true";
      break;
    case value_kind::number:
      v.number = static_cast<u32>(number(text.value, text.origin, 0, s.max, code));
      break;
    case value_kind::cpus: {
      auto list = kernel::parse_cpu_list(text.value);
      if (const auto* why = std::get_if<std::string>(&list))
        throw failure(code, fmt::format("{}: {}", text.origin, *why));
      v.cpus = std::get<kernel::cpu_list>(list);
      if (v.cpus.empty())
        throw failure(code, fmt::format("{}: the list of CPUs is empty", text.origin),
                      "haltpoll stop ends polling on all of them");
      break;
    }
  }
  return v;
}

void put(kernel::daemon_options& o, const kernel_setting& s, const kernel_value& v) {
  switch (s.kind) {
    case value_kind::boolean: *boolean_in(o, s.name) = v.on; break;
    case value_kind::number: *number_in(o, s.name) = v.number; break;
    case value_kind::cpus: o.start.guards.cpus = v.cpus; break;
  }
}

std::string text_of(const kernel::daemon_options& o, const kernel_setting& s) {
  auto& options = const_cast<kernel::daemon_options&>(o);
  switch (s.kind) {
    case value_kind::boolean: return *boolean_in(options, s.name) ? "true" : "false";
    case value_kind::number: return std::to_string(*number_in(options, s.name));
    case value_kind::cpus:
      return o.start.guards.cpus ? kernel::to_string(*o.start.guards.cpus) : std::string("all");
  }
  return "";
}

start_settings effective_start_settings(const layer& flags) {
  start_settings s;
  const setting<governor> g = effective_governor(flags);
  s.options.start.governor = g.value.params;
  s.governor_origin = g.origin;
  for (const kernel_setting& k : table) s.origins[k.name] = "default";
  // Rising order; each layer was checked when it was read.
  for (const layer& l : {file_layer(), environment_layer(), flags})
    for (const auto& [name, text] : l.kernel) {
      const kernel_setting* k = find_kernel_setting(name);
      const int code = text.origin.starts_with("--") ? exit_code::usage : exit_code::bad_data;
      put(s.options, *k, parse_kernel_value(*k, text, code));
      s.origins[name] = text.origin;
    }
  return s;
}

}  // namespace haltpoll::cli
