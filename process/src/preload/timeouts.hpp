#pragma once
// timeouts: the three ways the multiplexing calls spell a timeout, as nanoseconds and back.
#include <sys/time.h>
#include <time.h>

#include <haltpoll/core/types.hpp>

namespace haltpoll::preload {

using core::u64;

inline constexpr u64 ns_per_s = 1'000'000'000;
/// Longer timeouts (292 years) count as none for the poll; the real call then gets the caller's own
/// value.
inline constexpr u64 longest_timeout_s = 0x7fff'ffff'ffff'ffffULL / ns_per_s - 1;

/// A timeout of poll() and epoll_wait(): negative is none.
constexpr u64 from_ms(int ms) { return ms < 0 ? core::never : static_cast<u64>(ms) * 1'000'000; }
/// Rounded up: a call must not return early. `ns` came from an int of milliseconds.
constexpr int to_ms(u64 ns) {
  return ns == core::never ? -1 : static_cast<int>((ns + 999'999) / 1'000'000);
}

/// A timespec the kernel would take; 0 for one it would refuse, so that the real call refuses it at
/// once.
constexpr u64 from_timespec(const timespec& t) {
  if (t.tv_sec < 0 || t.tv_nsec < 0 || t.tv_nsec >= static_cast<long>(ns_per_s)) return 0;
  if (static_cast<u64>(t.tv_sec) > longest_timeout_s) return core::never;
  return static_cast<u64>(t.tv_sec) * ns_per_s + static_cast<u64>(t.tv_nsec);
}
constexpr timespec to_timespec(u64 ns) {
  return {static_cast<time_t>(ns / ns_per_s), static_cast<long>(ns % ns_per_s)};
}

/// select() takes any number of microseconds that is not negative.
constexpr u64 from_timeval(const timeval& t) {
  if (t.tv_sec < 0 || t.tv_usec < 0) return 0;
  const u64 s = static_cast<u64>(t.tv_sec) + static_cast<u64>(t.tv_usec) / 1'000'000;
  if (s > longest_timeout_s) return core::never;
  return s * ns_per_s + static_cast<u64>(t.tv_usec) % 1'000'000 * 1000;
}
/// Rounded up.
constexpr timeval to_timeval(u64 ns) {
  const u64 us = (ns + 999) / 1000;
  return {static_cast<time_t>(us / 1'000'000), static_cast<suseconds_t>(us % 1'000'000)};
}

}  // namespace haltpoll::preload
