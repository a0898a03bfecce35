#pragma once
// machines: state tables for tests.
#include <haltpoll/core/state_table.hpp>

namespace haltpoll::core {

/// POLL, and three states of a server: 2/2, 10/20 and 133/600 us of exit latency and target
/// residency. All pay within a tick of 4 ms.
inline constexpr state_table server{4,
                                    {{.polling = 1},
                                     {.exit_latency_ns = 2'000, .target_residency_ns = 2'000},
                                     {.exit_latency_ns = 10'000, .target_residency_ns = 20'000},
                                     {.exit_latency_ns = 133'000, .target_residency_ns = 600'000}}};

/// Three states of a telephone, none polls: 1/1, 1500/2000 and 3000/20000 us. The deepest pays
/// beyond a tick of 4 ms only.
inline constexpr state_table telephone{
    3,
    {{.exit_latency_ns = 1'000, .target_residency_ns = 1'000},
     {.exit_latency_ns = 1'500'000, .target_residency_ns = 2'000'000},
     {.exit_latency_ns = 3'000'000, .target_residency_ns = 20'000'000}}};

/// As many states as there can be, each twice as deep as the one before; none polls.
inline constexpr state_table ten = [] {
  state_table t{.count = max_states};
  for (u32 i = 0; i < max_states; ++i) t.states[i] = {500ULL << i, 1'000ULL << i, 0};
  return t;
}();

}  // namespace haltpoll::core
