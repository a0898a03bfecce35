#pragma once
// refused: what the kernel room refuses, as this room's failures.
#include <haltpoll/kernel/running.hpp>

#include "failure.hpp"

namespace haltpoll::cli {

inline failure failure_of(const kernel::refusal& no) {
  std::vector<std::string> detail;
  if (!no.detail.empty()) detail.push_back(no.detail);
  return failure(no.exit_code, no.what, no.hint, detail);
}

/// The maps of the backend that runs; a failure where none does, or where it died (its maps may be there for some milliseconds).
inline kernel::running running_backend() {
  auto opened = kernel::running::open();
  if (const auto* no = std::get_if<kernel::refusal>(&opened)) throw failure_of(*no);
  kernel::running r = std::move(std::get<kernel::running>(opened));
  const auto pid = static_cast<int>(r.settings().daemon_pid);
  if (kernel::daemon_pid() != pid)
    throw failure(
        exit_code::not_possible,
        "the daemon died: pid " + std::to_string(pid) + " is gone, its maps are still pinned",
        "haltpoll start");
  return r;
}

}  // namespace haltpoll::cli
