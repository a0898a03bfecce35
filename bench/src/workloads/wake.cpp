// wake: the penalty curve. How long after the waker's event does the woken thread run, by how long
// it has been waiting?
//
// The sleeper, alone on its CPU, announces that it will wait and waits. The waker, awake on another
// CPU all the time, lets the idle time pass since that announcement, takes the time and wakes it;
// the sleeper takes the time as soon as it runs. The rows rise by steps where the host changes its
// mind about an idle virtual CPU: while it polls itself, after it has descheduled the CPU, deeper.
//
// Idle times come in rising order, each for many wakes in a row, so a governor is measured settled
// on that idle time and not surprised by it.
#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <haltpoll/cpu/relax.hpp>
#include <numeric>

#include "../hand_off.hpp"
#include "../load.hpp"
#include "../statistics.hpp"
#include "all.hpp"

namespace haltpoll::bench {
namespace {

constexpr u64 us = 1000;
/// Close together around 130 us, where the measured hosts give up polling, and reaching past every
/// window.
constexpr u64 idle_times_ns[] = {2 * us,    10 * us,   30 * us,   60 * us,    100 * us,
                                 150 * us,  210 * us,  300 * us,  400 * us,   800 * us,
                                 1500 * us, 3000 * us, 5000 * us, 10'000 * us};

/// Wakes in a row of the curve: as many as fit into row_ns, so that a curve takes about 2 s, within
/// these bounds. Below 100 the p99 is the maximum.
constexpr u64 row_ns = 100'000 * us, fewest_wakes = 64, most_wakes = 2000;
/// Wakes before them that do not count: a haltpoll window needs three or four long blocks to shrink
/// from its maximum to 0, and one block to grow.
constexpr u64 warm_up_wakes = 8;

/// The kernel's clock, not cpu::now_ns(): a latency runs from one thread's reading to another's,
/// and interpolated readings of two threads may differ by a microsecond, three times what a polled
/// wake takes.
u64 now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<u64>(t.tv_sec) * 1'000'000'000 + static_cast<u64>(t.tv_nsec);
}

/// `off`: a futex, slept on at once.
class futex_flag : public no_polls {
 public:
  void post() {
    word_.store(1, std::memory_order_release);
    syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
  void take() {
    while (word_.exchange(0, std::memory_order_acquire) == 0)
      syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  }

 private:
  std::atomic<u32> word_{0};
};

u64 wakes_at(u64 idle_ns, u64 most) {
  const u64 fit = std::clamp(row_ns / idle_ns, fewest_wakes, most_wakes);
  return most == 0 ? fit : std::min(most, fit);
}

/// What the two threads share; a line of its own for everything that one writes and one reads.
template <class Flag>
struct meeting {
  alignas(64) Flag flag;
  alignas(64) std::atomic<u64> waits_since_ns{0};  ///< by the sleeper; 0 once the waker saw it
  alignas(64) std::atomic<u64> event_ns{0};        ///< by the waker, just before it posts
};

template <class Flag>
outcome curve(const job& j) {
  meeting<Flag> m;
  std::vector<std::vector<u64>> latencies;  // a row each; filled now: no page fault is timed
  for (const u64 idle_ns : idle_times_ns) latencies.emplace_back(wakes_at(idle_ns, j.ops));
  u64 skewed = 0;

  std::thread sleeper;
  const std::string problem = start_peer(sleeper, j, [&] {
    for (std::vector<u64>& row : latencies) {
      for (u64 i = 0; i < warm_up_wakes + row.size(); ++i) {
        m.waits_since_ns.store(now_ns(), std::memory_order_release);
        m.flag.take();
        const u64 woken = now_ns(), event = m.event_ns.load(std::memory_order_relaxed);
        if (woken < event) ++skewed;
        if (i >= warm_up_wakes) row[i - warm_up_wakes] = woken - event;
      }
    }
  });
  if (!problem.empty()) return problem;

  sample s;
  const usage before = usage_of(RUSAGE_SELF);
  const u64 start = now_ns();
  for (std::size_t row = 0; row < latencies.size(); ++row) {
    for (u64 i = 0; i < warm_up_wakes + latencies[row].size(); ++i) {
      u64 since = 0;
      while ((since = m.waits_since_ns.load(std::memory_order_acquire)) == 0) cpu::relax();
      m.waits_since_ns.store(0, std::memory_order_relaxed);
      u64 now = 0;
      do now = now_ns();
      while (now < since + idle_times_ns[row]);
      m.event_ns.store(now, std::memory_order_relaxed);
      m.flag.post();
    }
  }
  sleeper.join();
  s.wall_ns = now_ns() - start;
  const usage used = usage_of(RUSAGE_SELF) - before;
  if (skewed != 0)
    return std::to_string(skewed) + " wakes came before their event: the clocks of the CPUs differ";

  // Every idle time counts the same, however many wakes it had.
  std::vector<u64> p50, p99;
  u64 sum_of_means = 0;
  for (std::size_t row = 0; row < latencies.size(); ++row) {
    std::vector<u64>& l = latencies[row];
    s.curve.push_back(
        {idle_times_ns[row], percentile(l, 500), percentile(l, 900), percentile(l, 990)});
    p50.push_back(s.curve.back().wake_p50_ns);
    p99.push_back(s.curve.back().wake_p99_ns);
    s.ops += l.size();
    sum_of_means += std::accumulate(l.begin(), l.end(), u64{0}) / l.size();
  }
  s.p50_ns = percentile(p50, 500);
  s.p99_ns = percentile(p99, 500);
  s.mean_ns = sum_of_means / latencies.size();
  s.cpu_ns = used.cpu_ns;
  s.halts = used.halts;
  s.polls = m.flag.polls();
  s.hits = m.flag.hits();
  return s;
}

}  // namespace

outcome run_wake(const job& j) {
  if (j.variant == "off") return curve<futex_flag>(j);
  if (j.variant == "wait") return curve<wait_flag>(j);
  return "unknown arm \"" + j.variant + "\"";
}

}  // namespace haltpoll::bench
