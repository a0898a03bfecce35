#pragma once
// deadline: std::chrono's times as the nanoseconds of the clock that everything below uses.
#include <chrono>
#include <haltpoll/core/types.hpp>
#include <ratio>

namespace haltpoll::wait {

using core::u64;

/// `at` on the scale of cpu::now_ns(): steady_clock is CLOCK_MONOTONIC. 0 for times before the
/// clock's start, core::never for times past its end (584 years). Rounds up.
template <class Duration>
constexpr u64 deadline_ns(std::chrono::time_point<std::chrono::steady_clock, Duration> at) {
  using seconds = std::chrono::duration<long double>;
  const auto since = at.time_since_epoch();
  if (since <= Duration::zero()) return 0;
  if (seconds(since) >= seconds(18'000'000'000.0L)) return core::never;
  return static_cast<u64>(std::chrono::ceil<std::chrono::duration<u64, std::nano>>(since).count());
}

/// `from_ns` + `d`, with the same limits.
template <class Rep, class Period>
constexpr u64 deadline_after_ns(u64 from_ns, std::chrono::duration<Rep, Period> d) {
  using seconds = std::chrono::duration<long double>;
  if (d <= d.zero()) return from_ns;
  if (seconds(d) >= seconds(9'000'000'000.0L)) return core::never;
  return from_ns +
         static_cast<u64>(std::chrono::ceil<std::chrono::duration<u64, std::nano>>(d).count());
}

}  // namespace haltpoll::wait
