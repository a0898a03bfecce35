#include "settings.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <haltpoll/core/spec.hpp>

namespace haltpoll::cli {
namespace {

constexpr u32 any_number = 8192;  // CPUs that a kernel can have

template <bool kernel::guard_options::*field>
bool* guard(kernel::daemon_options& o) {
  return &(o.start.guards.*field);
}
template <u32 kernel::guard_options::*field>
u32* limit(kernel::daemon_options& o) {
  return &(o.start.guards.*field);
}
bool* host_poll(kernel::daemon_options& o) { return &o.host_poll_control; }

using guards = kernel::guard_options;
using kernel::control;

constexpr kernel_setting table[] = {
    {"cpus", value_kind::cpus, 0, "only these CPUs poll, such as 0-3,8"},
    {"guard_steal", value_kind::number, 100,
     "percent of a CPU's time that the host may take before its window is halved; 0: off", nullptr,
     limit<&guards::steal_percent>, &control::steal_percent},
    {"max_pollers", value_kind::number, any_number, "CPUs that may poll at once; 0: no limit",
     nullptr, limit<&guards::max_pollers>, &control::max_pollers},
    {"max_polled_percent", value_kind::number, 100,
     "share of a CPU's time that may be polled; 0: no limit", nullptr,
     limit<&guards::max_polled_percent>, &control::max_polled_percent},
    {"guard_nohz_full", value_kind::boolean, 0, "CPUs under nohz_full or isolcpus do not poll",
     guard<&guards::nohz_full>},
    {"guard_haltpoll", value_kind::boolean, 0, "do not start where the kernel's own haltpoll polls",
     guard<&guards::haltpoll>},
    {"guard_mwait", value_kind::boolean, 0,
     "do not start where idle CPUs are woken without an interrupt already (MWAIT, idle=poll)",
     guard<&guards::mwait>},
    {"guard_clock", value_kind::boolean, 0, "do not start where reading the clock leaves the guest",
     guard<&guards::clock>},
    {"host_poll_control", value_kind::boolean, 0,
     "switch the KVM host's own halt polling off meanwhile (MSR 0x4b564d05)", host_poll},
};
static_assert(std::size(table) + core::spec::key_count + 1 <= kernel::origin_count);

template <class Change>
std::string each_letter(std::string text, Change change) {
  std::transform(text.begin(), text.end(), text.begin(), change);
  return text;
}

}  // namespace

std::span<const kernel_setting> kernel_settings() { return table; }

const kernel_setting* find_kernel_setting(std::string_view name) {
  for (const kernel_setting& s : table)
    if (name == s.name) return &s;
  return nullptr;
}

std::string flag_of(const kernel_setting& s) {
  return "--" + each_letter(s.name, [](char c) { return c == '_' ? '-' : c; });
}
std::string variable_of(const kernel_setting& s) {
  return "HALTPOLL_" + each_letter(s.name, [](unsigned char c) { return std::toupper(c); });
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
    case value_kind::boolean: *s.boolean(o) = v.on; break;
    case value_kind::number: *s.number(o) = v.number; break;
    case value_kind::cpus: o.start.guards.cpus = v.cpus; break;
  }
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
