#include "config.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <haltpoll/core/spec.hpp>
#include <sstream>

#include "settings.hpp"

// The parser itself is in the library: compiled here it takes a minute.
#define TOML_HEADER_ONLY 0
#include <toml++/toml.h>

namespace haltpoll::cli {
namespace spec = core::spec;
using core::u64;

namespace {

// What the governor is when nobody says anything: the kernel's own, with the kernel's own defaults.
constexpr const char* default_governor = "haltpoll";

struct file_type {
  toml::node_type type;
  const char* name;
};
constexpr file_type a_string{toml::node_type::string, "a string"},
    a_number{toml::node_type::integer, "a whole number"},
    a_boolean{toml::node_type::boolean, "true or false"};

struct file_key {
  const char* name;
  std::optional<setting<std::string>> layer::*field;
  file_type type;
};
constexpr file_key file_keys[] = {
    {"governor", &layer::governor, a_string},
    {"window_ns", &layer::window_ns, a_number},
};

file_type type_of(value_kind k) {
  switch (k) {
    case value_kind::boolean: return a_boolean;
    case value_kind::number: return a_number;
    case value_kind::cpus: break;
  }
  return a_string;
}

std::string all_keys() {
  std::string list;
  for (const file_key& k : file_keys) list += (list.empty() ? "" : ", ") + std::string(k.name);
  for (const kernel_setting& k : kernel_settings()) list += ", " + std::string(k.name);
  return list;
}

std::string at(const std::string& file, const toml::source_region& where) {
  return fmt::format("{}:{}", file, where.begin.line == 0 ? 1 : where.begin.line);
}

/// Throws where a value makes no sense, even one that a higher layer overrides.
void check(const layer& l) {
  governor_of(l, exit_code::bad_data);
  for (const auto& [name, text] : l.kernel)
    parse_kernel_value(*find_kernel_setting(name), text, exit_code::bad_data);
}

}  // namespace

layer environment_layer() {
  layer l;
  const auto take = [](const std::string& name, std::optional<setting<std::string>>& to) {
    if (const char* value = std::getenv(name.c_str())) to = {value, name};
  };
  take("HALTPOLL_GOVERNOR", l.governor);
  take("HALTPOLL_WINDOW_NS", l.window_ns);
  for (const kernel_setting& k : kernel_settings()) {
    std::optional<setting<std::string>> value;
    take(variable_of(k), value);
    if (value) l.kernel[k.name] = *value;
  }
  check(l);
  return l;
}

layer file_layer() {
  const char* named = std::getenv("HALTPOLL_CONFIG");
  const std::string path = named != nullptr ? named : default_config_path;
  struct stat info {};
  const bool there = stat(path.c_str(), &info) == 0;
  if (!there && errno == ENOENT && named == nullptr) return {};
  std::ifstream in;
  if (there && S_ISDIR(info.st_mode)) errno = EISDIR;
  if (there && !S_ISDIR(info.st_mode)) in.open(path);
  if (!in.is_open()) {
    const int error = errno;
    throw failure(error == EACCES ? exit_code::not_permitted : exit_code::bad_data,
                  fmt::format("{}: {}", path, std::strerror(error)),
                  named != nullptr ? "HALTPOLL_CONFIG names this file" : "");
  }
  std::ostringstream text;
  text << in.rdbuf();
  return parse_config(text.str(), path);
}

u64 number(const std::string& text, const std::string& origin, u64 min, u64 max, int code) {
  u64 value = 0;
  if (!spec::number({text.data(), static_cast<core::u32>(text.size())}, value))
    throw failure(code, fmt::format("{}: \"{}\" is not a whole number from {} to {}", origin, text,
                                    min, max));
  if (value < min)
    throw failure(code, fmt::format("{}: {} is below the limit {}", origin, value, min));
  if (value > max)
    throw failure(code, fmt::format("{}: {} is above the limit {}", origin, value, max));
  return value;
}

setting<governor> parse_governor(const std::string& text, const std::string& origin, int code) {
  const spec::result r = spec::parse(spec::text{text.data(), static_cast<core::u32>(text.size())});
  if (r.code != spec::error::none) {
    char buffer[1024] = "";
    spec::line line{buffer, sizeof buffer};
    spec::describe(r, line);
    throw failure(code, fmt::format("{}: {}", origin, buffer), spec::hint(r.code));
  }
  return {{text, r.params}, origin};
}

std::optional<setting<governor>> governor_of(const layer& l, int code) {
  if (l.governor && l.window_ns)
    throw failure(
        code, fmt::format("{} and {} are both given; {} N is short for governor fixed:window_ns=N",
                          l.governor->origin, l.window_ns->origin, l.window_ns->origin));
  if (l.governor) return parse_governor(l.governor->value, l.governor->origin, code);
  if (!l.window_ns) return std::nullopt;
  const u64 window = number(l.window_ns->value, l.window_ns->origin, 0, spec::hard_cap_ns, code);
  return parse_governor(fmt::format("fixed:window_ns={}", window), l.window_ns->origin, code);
}

layer parse_config(std::string_view text, const std::string& file) {
  toml::table parsed;
  try {
    parsed = toml::parse(text, file);
  } catch (const toml::parse_error& e) {
    throw failure(exit_code::bad_data,
                  fmt::format("{}: {}", at(file, e.source()), e.description()));
  }
  layer l;
  for (const auto& [key, node] : parsed) {
    const std::string origin = at(file, key.source());
    const file_key* known = nullptr;
    for (const file_key& k : file_keys)
      if (key == k.name) known = &k;
    const kernel_setting* of_kernel = find_kernel_setting(key.str());
    if (known == nullptr && of_kernel == nullptr)
      throw failure(exit_code::bad_data, fmt::format("{}: unknown key \"{}\"; there are {}", origin,
                                                     key.str(), all_keys()));
    const file_type expected = known != nullptr ? known->type : type_of(of_kernel->kind);
    if (node.type() != expected.type)
      throw failure(exit_code::bad_data,
                    fmt::format("{}: {} must be {}", origin, key.str(), expected.name));
    std::string value;
    if (const auto* s = node.as_string()) value = s->get();
    if (const auto* i = node.as_integer()) value = std::to_string(i->get());
    if (const auto* b = node.as_boolean()) value = b->get() ? "true" : "false";
    const setting<std::string> found = {value, fmt::format("{}: {}", origin, key.str())};
    if (known != nullptr)
      l.*known->field = found;
    else
      l.kernel[of_kernel->name] = found;
  }
  check(l);
  return l;
}

setting<governor> effective_governor(const layer& flags) {
  const auto flag = governor_of(flags, exit_code::usage);
  const auto variable = governor_of(environment_layer(), exit_code::bad_data);
  const auto file = governor_of(file_layer(), exit_code::bad_data);
  if (flag) return *flag;
  if (variable) return *variable;
  if (file) return *file;
  return parse_governor(default_governor, "default");
}

}  // namespace haltpoll::cli
