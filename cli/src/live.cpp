#include "live.hpp"

#include <fmt/core.h>

#include <atomic>
#include <cstring>
#include <haltpoll/core/spec.hpp>
#include <haltpoll/kernel/running.hpp>
#include <set>

namespace haltpoll::cli {
namespace spec = core::spec;
using kernel::control;
using kernel::cpu_record;

namespace {

// Places in control::origin: the governor, the settings, the governors' keys.
constexpr std::size_t governor_origin = 0;
std::size_t origin_of_setting(const kernel_setting& s) {
  return 1 + static_cast<std::size_t>(&s - kernel_settings().data());
}
std::size_t origin_of_key(const spec::key& k) {
  return 1 + kernel_settings().size() + static_cast<std::size_t>(&k - spec::keys);
}

void write_origin(control& c, std::size_t at, const std::string& text) {
  std::snprintf(c.origin[at], kernel::origin_size, "%s", text.c_str());
}
std::string read_origin(const control& c, std::size_t at) {
  return {c.origin[at], strnlen(c.origin[at], kernel::origin_size)};
}

const spec::key* find_key(core::any::kind governor, std::string_view name) {
  for (const spec::key& k : spec::keys)
    if (k.governor == governor && name == k.name) return &k;
  return nullptr;
}

/// The CPUs that may poll as far as `cpus` goes.
kernel::cpu_list listed(std::span<const cpu_record> cpus) {
  kernel::cpu_list list;
  for (u32 cpu = 0; cpu < cpus.size(); ++cpu)
    if ((cpus[cpu].guards & kernel::guard::cpu_list) == 0) list.push_back(cpu);
  return list;
}

std::string value_in_force(const control& c, std::span<const cpu_record> cpus,
                           const kernel_setting& s) {
  if (s.kind == value_kind::cpus) {
    const kernel::cpu_list list = listed(cpus);
    return list.size() == cpus.size() ? "all" : kernel::to_string(list);
  }
  if (s.running != nullptr) return std::to_string(c.*s.running);
  return (c.start_only & (1U << origin_of_setting(s))) != 0 ? "true" : "false";
}

std::string known_keys(core::any::kind governor) {
  std::string list = "governor";
  for (const spec::key& k : spec::keys)
    if (k.governor == governor) list += std::string(", ") + k.name;
  for (const kernel_setting& s : kernel_settings())
    if (s.live()) list += std::string(", ") + s.name;
  return list;
}

/// What a `set` would do, before anything is done.
struct change {
  core::any::params governor;
  std::vector<std::size_t> origins;
  std::vector<std::pair<const kernel_setting*, kernel_value>> settings;
};

void assign(change& to, const std::string& key, const std::string& value) {
  const std::string origin = "set " + key;
  if (key == "governor") {
    to.governor = parse_governor(value, origin).value.params;
    to.origins.push_back(governor_origin);
    return;
  }
  if (const spec::key* k = find_key(to.governor.which, key)) {
    k->set(to.governor, number(value, origin, 0, k->max));
    to.origins.push_back(origin_of_key(*k));
    return;
  }
  const kernel_setting* s = find_kernel_setting(key);
  if (s == nullptr)
    throw failure(exit_code::usage,
                  fmt::format("set: unknown key \"{}\" with governor {}", key,
                              spec::name_of(to.governor.which)),
                  "there are " + known_keys(to.governor.which));
  if (!s->live())
    throw failure(exit_code::usage, fmt::format("set: {} can be given at the start only", key),
                  fmt::format("haltpoll stop, then haltpoll start {}={}", flag_of(*s), value));
  to.settings.emplace_back(s, parse_kernel_value(*s, {value, origin}, exit_code::usage));
  to.origins.push_back(origin_of_setting(*s));
}

void store_setting(control& c, std::span<cpu_record> cpus, const kernel_setting& s,
                   const kernel_value& v) {
  if (s.kind == value_kind::cpus)
    kernel::limit_to(v.cpus, cpus);
  else
    std::atomic_ref(c.*s.running).store(v.number, std::memory_order_relaxed);
}

}  // namespace

std::string full_spec(const core::any::params& p) {
  char text[spec::max_length + 1] = "";
  spec::line line{text, sizeof text};
  spec::format(p, line);
  return text;
}

std::vector<live_value> live_values(const control& c, std::span<const cpu_record> cpus) {
  const std::string governor = read_origin(c, governor_origin);
  std::vector<live_value> values = {{"governor", spec::name_of(c.governor.which), governor}};
  for (const spec::key& k : spec::keys) {
    if (k.governor != c.governor.which) continue;
    const std::string own = read_origin(c, origin_of_key(k));
    values.push_back({k.name, std::to_string(k.get(c.governor)), own.empty() ? governor : own});
  }
  for (const kernel_setting& s : kernel_settings())
    values.push_back({s.name, value_in_force(c, cpus, s), read_origin(c, origin_of_setting(s))});
  return values;
}

void remember_start(control& c, const start_settings& s) {
  kernel::daemon_options options = s.options;  // the table's places are not const
  write_origin(c, governor_origin, s.governor_origin);
  u32 on = 0;
  for (const kernel_setting& k : kernel_settings()) {
    write_origin(c, origin_of_setting(k), s.origins.at(k.name));
    if (k.kind == value_kind::boolean && *k.boolean(options)) on |= 1U << origin_of_setting(k);
  }
  c.start_only = on;
}

void set_live(control& c, std::span<cpu_record> cpus, const std::vector<std::string>& assignments,
              const kernel::cpu_list& online) {
  change to{c.governor, {}, {}};
  std::set<std::string> seen;
  for (const std::string& text : assignments) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw failure(exit_code::usage, fmt::format("set: \"{}\" is not KEY=VALUE", text));
    const std::string key = text.substr(0, equals);
    if (!seen.insert(key).second)
      throw failure(exit_code::usage, fmt::format("set: {} is given twice", key));
    assign(to, key, text.substr(equals + 1));
  }
  // Single keys may contradict each other: the whole is checked as a SPEC would be.
  parse_governor(full_spec(to.governor), "set");
  for (const auto& [s, v] : to.settings)
    if (const std::string why = kernel::not_online(v.cpus, online); !why.empty())
      throw failure(exit_code::usage, "set cpus: " + why);
  kernel::store(c, to.governor);
  for (const auto& [s, v] : to.settings) store_setting(c, cpus, *s, v);
  for (const std::size_t at : to.origins) {
    // A new governor brings its own keys.
    if (at == governor_origin)
      for (const spec::key& k : spec::keys) write_origin(c, origin_of_key(k), "");
    write_origin(c, at, "set");
  }
}

}  // namespace haltpoll::cli
