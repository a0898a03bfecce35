#pragma once
// status: the texts of `haltpoll status`, from the maps alone, so that tests need no kernel.
#include <haltpoll/kernel/guards.hpp>
#include <haltpoll/kernel/maps.hpp>
#include <span>
#include <string>

namespace haltpoll::cli {

std::string status_json(const kernel::control& c, std::span<const kernel::cpu_record> cpus,
                        const kernel::cpu_list& online, core::u64 now_ns);
std::string status_text(const kernel::control& c, std::span<const kernel::cpu_record> cpus,
                        const kernel::cpu_list& online, core::u64 now_ns);

}  // namespace haltpoll::cli
