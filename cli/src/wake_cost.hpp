#pragma once
// wake_cost: a two-second look at what waking a sleeping CPU costs here, and whether polling could
// save it. `haltpoll bench wake` measures the whole curve; this only answers "is there anything to
// win".
#include <haltpoll/core/types.hpp>
#include <string>
#include <variant>

namespace haltpoll::cli {

using core::u64;

/// Of one kind of wake, ns.
struct latency {
  u64 p50_ns, p90_ns;
};

/// Waking a thread on another CPU after `idle_ns` without work there.
struct wake_row {
  u64 idle_ns;
  latency halted;   ///< it slept in futex: scheduler, interrupt, the way back into the guest
  latency polling;  ///< it watched the word
  u64 waker_ns;     ///< p50 of the waker's own system call
};

/// Round trips over a pipe between two CPUs, blocking / polling with non-blocking reads: what the
/// process backend can win. median and quartiles of the
/// ratios of the interleaved measurements.
struct gain {
  latency blocking, polling;
  double median, low, high;
};

struct wake_cost {
  wake_row rows[2];  ///< idle 30 us, 300 us
  latency timer;     ///< lateness of a timer after 300 us: a wake without another CPU's interrupt
  gain round_trip;
  bool worth;         ///< three quarters of the ratios are above what noise makes
  u64 interruptions;  ///< times other work took a CPU away from us meanwhile
};

/// Measures for at most two seconds on two of the CPUs this process may use. The text says why it
/// cannot.
std::variant<wake_cost, std::string> measure_wake_cost();

}  // namespace haltpoll::cli
