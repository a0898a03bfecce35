#pragma once
// config: every setting with its value and where the value came from. Rising order: built-in
// defaults, /etc/haltpoll/haltpoll.toml (HALTPOLL_CONFIG names another file), HALTPOLL_* variables,
// flags.
//
// Nothing is clamped and nothing falls back: a value that makes no sense ends the program and names
// value, limit and origin. docs/configuration.md is the user's view of this file.
#include <haltpoll/core/any.hpp>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "failure.hpp"

namespace haltpoll::cli {

inline constexpr const char* default_config_path = "/etc/haltpoll/haltpoll.toml";

/// A value and its origin: "--governor", "HALTPOLL_GOVERNOR", "/etc/haltpoll/haltpoll.toml:3",
/// "default".
template <class T>
struct setting {
  T value;
  std::string origin;
};

/// A governor as the user wrote it and as it was understood.
struct governor {
  std::string spec;
  core::any::params params;
};

/// A whole number in [min, max], else a failure with `code` that names `origin`, value and limit.
core::u64 number(const std::string& text, const std::string& origin, core::u64 min, core::u64 max,
                 int code = exit_code::usage);

/// Parses SPEC; `code` is what a refusal exits with (64 for flags, 65 for files and variables).
setting<governor> parse_governor(const std::string& spec, const std::string& origin,
                                 int code = exit_code::usage);

/// What one layer says: the governor as `governor` or its shorthand `window_ns`, never both, and the kernel backend's
/// settings by name (settings.hpp).
struct layer {
  std::optional<setting<std::string>> governor;
  std::optional<setting<std::string>> window_ns;
  std::map<std::string, setting<std::string>> kernel;
};

/// The governor of a layer, if it names one.
std::optional<setting<governor>> governor_of(const layer& l, int code);

/// Reads the text of a configuration file and checks every value. Every failure names `file:line`.
layer parse_config(std::string_view text, const std::string& file);

/// The two layers that are there without the command line, read and checked.
layer file_layer();
layer environment_layer();

/// The governor in force: flags before variables before file before the default. Every layer is
/// checked, even one that a higher layer overrides.
setting<governor> effective_governor(const layer& flags);

}  // namespace haltpoll::cli
