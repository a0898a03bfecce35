#pragma once
// on_descriptor: poll_then_block for calls that wait for one descriptor (read, recv, accept
// families), which may be of a kind that is not to be polled for.
#include "descriptors.hpp"
#include "poll_loop.hpp"
#include "real.hpp"

namespace haltpoll::preload {

/// Whether a call on `fd` that waits for input would find something (data, end of file, an error).
/// Never blocks.
inline bool input_ready(int fd) {
  pollfd p{fd, POLLIN, 0};
  return real.poll(&p, 1, 0) != 0;  // an error: let the real call say which
}

/// A call that has no non-blocking form of its own, or must not be split: readiness, then the real
/// call.
template <class Real>
struct when_ready {
  int fd;
  Real function;
  decltype(function()) result = -1;

  bool attempt() {
    if (!input_ready(fd)) return false;
    result = function();
    return true;
  }
  void block(u64) { result = function(); }
};

template <class Real, class Result>
when_ready(int, Real, Result) -> when_ready<Real>;  // clang before 17 deduces none for aggregates

/// `make(kind)` is called with the entry of a pollable descriptor and runs poll_then_block;
/// `plain()` is the real call.
template <class Call, class Plain>
auto on_descriptor(int fd, Plain plain, Call make) -> decltype(plain()) {
  using namespace descriptors;
  if (!config.polling.load(std::memory_order_acquire)) return plain();
  const entry e = get(fd);
  if ((e & untouched) != 0) return plain();
  if ((e & pollable) == 0) {
    // Unknown: nothing but the plain call, and a look afterwards if it blocked.
    const u64 start = cpu::now_ns();
    const auto result = plain();
    if (result >= 0 && cpu::now_ns() - start >= shortest_block_ns) classify(fd, e);
    return result;
  }
  auto call = make(e);
  poll_then_block(call,
                  (e & timed) != 0 ? ended_by::any_handler : ended_by::not_restarting_handlers,
                  core::never);
  if (this_thread.at_once >= fed_after) {
    this_thread.at_once = 0;
    forget(fd);
  }
  // The real call would not wait: somebody made it non-blocking.
  if (call.result < 0 && errno == EAGAIN && (e & timed) == 0) forget(fd);
  return call.result;
}

}  // namespace haltpoll::preload
