#include "config.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <haltpoll/core/spec.hpp>
#include <sstream>

// The parser itself is in the library: compiled here it takes a minute.
#define TOML_HEADER_ONLY 0
#include <toml++/toml.h>

namespace haltpoll::cli {
namespace spec = core::spec;
using core::u64;

namespace {

// What the governor is when nobody says anything: the kernel's own, with the kernel's own defaults.
constexpr const char* default_governor = "haltpoll";

struct file_key {
  const char* name;
  std::optional<setting<std::string>> layer::*field;
  toml::node_type type;
  const char* type_name;
};

constexpr file_key file_keys[] = {
    {"governor", &layer::governor, toml::node_type::string, "a string"},
    {"window_ns", &layer::window_ns, toml::node_type::integer, "a whole number"},
};

std::string at(const std::string& file, const toml::source_region& where) {
  return fmt::format("{}:{}", file, where.begin.line == 0 ? 1 : where.begin.line);
}

layer from_environment() {
  layer l;
  const auto take = [](const char* name, std::optional<setting<std::string>>& to) {
    if (const char* value = std::getenv(name)) to = {value, name};
  };
  take("HALTPOLL_GOVERNOR", l.governor);
  take("HALTPOLL_WINDOW_NS", l.window_ns);
  return l;
}

std::optional<setting<governor>> from_file() {
  const char* named = std::getenv("HALTPOLL_CONFIG");
  const std::string path = named != nullptr ? named : default_config_path;
  struct stat info {};
  const bool there = stat(path.c_str(), &info) == 0;
  if (!there && errno == ENOENT && named == nullptr) return std::nullopt;
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

}  // namespace

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

std::optional<setting<governor>> parse_config(std::string_view text, const std::string& file) {
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
    if (known == nullptr) {
      std::string list;
      for (const file_key& k : file_keys) list += (list.empty() ? "" : ", ") + std::string(k.name);
      throw failure(exit_code::bad_data,
                    fmt::format("{}: unknown key \"{}\"; there are {}", origin, key.str(), list));
    }
    if (node.type() != known->type)
      throw failure(exit_code::bad_data,
                    fmt::format("{}: {} must be {}", origin, known->name, known->type_name));
    std::string value;
    if (const auto* s = node.as_string()) value = s->get();
    if (const auto* i = node.as_integer()) value = std::to_string(i->get());
    l.*known->field = {value, fmt::format("{}: {}", origin, known->name)};
  }
  return governor_of(l, exit_code::bad_data);
}

setting<governor> effective_governor(const layer& flags) {
  const auto flag = governor_of(flags, exit_code::usage);
  const auto variable = governor_of(from_environment(), exit_code::bad_data);
  const auto file = from_file();
  if (flag) return *flag;
  if (variable) return *variable;
  if (file) return *file;
  return parse_governor(default_governor, "default");
}

}  // namespace haltpoll::cli
