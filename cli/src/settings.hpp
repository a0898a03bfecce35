#pragma once
// settings: what the kernel backend can be told besides its governor: one table for the configuration file, variables, flags, `set` and
// `get`. Values are texts with an origin until they are parsed here.
#include <haltpoll/kernel/daemon.hpp>
#include <map>
#include <span>
#include <string>

#include "config.hpp"

namespace haltpoll::cli {

using core::u32;
using core::u64;

enum class value_kind { boolean, number, cpus };

struct kernel_setting {
  const char*
      name;  ///< in the file and for set and get; flags have dashes, variables HALTPOLL_ and capitals
  value_kind kind;
  u32 max;  ///< of a number
  const char* help;
  // Where the value lives: one of the first two (none for `cpus`, of which there is one), and in a backend that runs.
  bool* (*boolean)(kernel::daemon_options&) = nullptr;
  u32* (*number)(kernel::daemon_options&) = nullptr;
  u32 kernel::control::*running = nullptr;

  /// `set` changes it while the backend runs.
  bool live() const { return kind == value_kind::cpus || running != nullptr; }
};

/// The order is that of `get`, and of control::origin after the governor's.
std::span<const kernel_setting> kernel_settings();
const kernel_setting* find_kernel_setting(std::string_view name);
std::string flag_of(const kernel_setting& s);      ///< "--guard-steal"
std::string variable_of(const kernel_setting& s);  ///< "HALTPOLL_GUARD_STEAL"

/// A parsed value: the one that belongs to the setting's kind.
struct kernel_value {
  bool on = false;
  u32 number = 0;
  kernel::cpu_list cpus;
};
/// Else a failure with `code` that names origin, value and limit.
kernel_value parse_kernel_value(const kernel_setting& s, const setting<std::string>& text,
                                int code);

/// Puts a value into the options of a start.
void put(kernel::daemon_options& o, const kernel_setting& s, const kernel_value& v);

/// Options of a start with the origin of each setting, by name ("governor" among them).
struct start_settings {
  kernel::daemon_options options;
  std::string governor_origin;
  std::map<std::string, std::string> origins;
};
/// Flags before variables before file before defaults; every layer is checked.
start_settings effective_start_settings(const layer& flags);

}  // namespace haltpoll::cli
