#pragma once
// stats: what a primitive counts, as a template parameter. By default nothing, at no cost.
#include <atomic>
#include <haltpoll/core/types.hpp>

namespace haltpoll::wait {

using core::u64;

/// Counts nothing.
struct no_stats {
  void looked() {}
  void polled(bool /*hit*/, u64 /*ns*/) {}
  void contended() {}
  void backed_off() {}
  void blocked(u64 /*ns*/) {}
  void woke() {}
};

/// Counts everything, with relaxed atomic adds. Times in ns.
struct counting_stats {
  std::atomic<u64> looks{0};       ///< waits over within the first looks
  std::atomic<u64> polls{0};       ///< polls of a window, begun after the first looks
  std::atomic<u64> hits{0};        ///< of these, those that found what they waited for
  std::atomic<u64> polled_ns{0};   ///< time polled in windows
  std::atomic<u64> contention{0};  ///< polls given up because somebody else needed the CPU
  std::atomic<u64> backoffs{0};    ///< waits that did not poll because of that
  std::atomic<u64> blocks{0};      ///< waits that slept
  std::atomic<u64> block_ns{0};    ///< time asleep
  std::atomic<u64> wakes{0};       ///< wake system calls of notifiers

  void looked() { add(looks, 1); }
  void polled(bool hit, u64 ns) {
    add(polls, 1);
    add(hits, hit ? 1 : 0);
    add(polled_ns, ns);
  }
  void contended() { add(contention, 1); }
  void backed_off() { add(backoffs, 1); }
  void blocked(u64 ns) {
    add(blocks, 1);
    add(block_ns, ns);
  }
  void woke() { add(wakes, 1); }

 private:
  static void add(std::atomic<u64>& counter, u64 n) {
    counter.fetch_add(n, std::memory_order_relaxed);
  }
};

}  // namespace haltpoll::wait
