#pragma once
// hand_off: what the workloads that time one thread waking another share: a peer thread on a CPU of
// its own, and flags. A flag's post() makes one take() return; at most one post is outstanding.
#include <cerrno>
#include <chrono>
#include <future>
#include <haltpoll/bench/workload.hpp>
#include <haltpoll/wait/event.hpp>
#include <string>
#include <thread>
#include <utility>

#include "load.hpp"

namespace haltpoll::bench {

/// Starts `body` in a thread on j.cpu_b and pins the calling one to j.cpu_a. Empty, or why not.
template <class Body>
std::string start_peer(std::thread& peer, const job& j, Body body) {
  if (j.cpu_a == j.cpu_b) return "needs two CPUs";
  if (!pin(j.cpu_a)) return failure("CPU " + std::to_string(j.cpu_a));
  std::promise<std::string> started;
  std::future<std::string> problem = started.get_future();
  peer = std::thread([&j, body, started = std::move(started)]() mutable {
    const bool pinned = pin(j.cpu_b);
    started.set_value(pinned ? "" : failure("CPU " + std::to_string(j.cpu_b)));
    if (pinned) body();
  });
  std::string why = problem.get();
  if (!why.empty()) peer.join();
  return why;
}

/// Mixed into flags that never poll.
struct no_polls {
  static u64 polls() { return 0; }
  static u64 hits() { return 0; }
};

/// The wait library's event with its default governor, and with counters: without them it would be
/// an atomic add or two on a line of the waiter's own faster.
class wait_flag {
 public:
  void post() { event_.set(); }
  void take() { event_.wait(); }
  /// False: nothing was posted for so long.
  bool take_for(u64 ns) { return event_.wait_for(std::chrono::nanoseconds(ns)); }
  u64 polls() const { return event_.stats().looks + event_.stats().polls; }
  u64 hits() const { return event_.stats().looks + event_.stats().hits; }

 private:
  wait::basic_event<wait::reset::automatic, wait::haltpoll_governor<>, wait::counting_stats> event_;
};

}  // namespace haltpoll::bench
