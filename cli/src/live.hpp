#pragma once
// live: settings of a backend that runs, read and changed in its maps. No root and no kernel needed to test it: two structs.
#include <haltpoll/kernel/maps.hpp>
#include <span>
#include <string>
#include <vector>

#include "settings.hpp"

namespace haltpoll::cli {

/// One line of `get`.
struct live_value {
  std::string key, value, origin;
};

/// Everything that `get` shows: the governor, its keys, the settings.
std::vector<live_value> live_values(const kernel::control& c,
                                    std::span<const kernel::cpu_record> cpus);

/// Takes over what a start was given: origins, and settings that only a start can change.
void remember_start(kernel::control& c, const start_settings& s);

/// `assignments` are KEY=VALUE texts. All of them are checked against what is in force and against each other, then all are
/// stored, or none and a failure says why. `online` are the CPUs that `cpus` may name.
void set_live(kernel::control& c, std::span<kernel::cpu_record> cpus,
              const std::vector<std::string>& assignments, const kernel::cpu_list& online);

/// A governor with all its keys, as a SPEC.
std::string full_spec(const core::any::params& p);

}  // namespace haltpoll::cli
