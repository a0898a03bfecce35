#pragma once
// arms: the ways to run a load that the bench knows by name (--backends).
#include <haltpoll/bench/runner.hpp>

namespace haltpoll::bench {

/// The arm of a backend, which starts workers; or which name is unknown or what is missing.
std::variant<arm, std::string> backend_arm(const std::string& backend, const options& o);

/// An arm of the workload's own: no backend, `variant` passed to it.
std::variant<arm, std::string> own_arm(const std::string& variant, const options& o,
                                       bool is_baseline);

}  // namespace haltpoll::bench
