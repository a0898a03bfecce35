#include "wake_cost.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <haltpoll/cpu/clock.hpp>
#include <haltpoll/cpu/monitor_wait.hpp>
#include <haltpoll/cpu/relax.hpp>
#include <thread>
#include <vector>

namespace haltpoll::cli {
namespace {

using core::u32;

// Five arms and eight rounds of pipe turns share the two seconds; each stops at its deadline
// however slow the machine is.
constexpr u64 arm_ns = 200'000'000, pipe_ns = 800'000'000;
constexpr u32 samples = 400;  // p90 of 400 rests on 40 samples
constexpr u32 rounds = 8;     // blocking and polling alternate A B B A
constexpr u32 turns = 200;    // per round and arm: 4 ms at 20 us, longer than a scheduler slice
// A ratio that two equal arms hardly reach by chance: blocking against blocking stayed within 0.99 to
// 1.01 on a quiet guest (bench pipe --backends off,off, 9 rounds); a choice, with room for a busy one.
constexpr double noise = 1.1;
// Polling yields, as the backends do: on a busy machine a stubborn poller waits whole time slices
// for its peer.
constexpr u32 tries_per_yield = 8;  // a yield costs as much as two tries
constexpr u64 poll_per_yield_ns = 20'000;

bool pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
}

long futex(std::atomic<u32>& word, int op, u32 value) {
  return syscall(SYS_futex, reinterpret_cast<u32*>(&word), op | FUTEX_PRIVATE_FLAG, value, nullptr,
                 nullptr, 0);
}

latency quantiles(std::vector<u64> v) {
  if (v.empty()) return {0, 0};
  std::sort(v.begin(), v.end());
  return {v[v.size() / 2], v[v.size() * 9 / 10]};
}

/// Restores the affinity of the calling thread.
class affinity {
 public:
  affinity() { ok_ = sched_getaffinity(0, sizeof before_, &before_) == 0; }
  ~affinity() {
    if (ok_) sched_setaffinity(0, sizeof before_, &before_);
  }
  std::vector<int> cpus() const {
    std::vector<int> list;
    for (int cpu = 0; ok_ && cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &before_)) list.push_back(cpu);
    return list;
  }

 private:
  cpu_set_t before_{};
  bool ok_;
};

/// Involuntary context switches of all threads of this process.
u64 interruptions() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<u64>(usage.ru_nivcsw);
}

void spin_ns(u64 ns) {
  for (const u64 end = cpu::now_ns() + ns; cpu::now_ns() < end;) cpu::relax();
}

/// Stands back now and then: somebody else may need this CPU.
void poll(const std::atomic<u32>& word, u32 seen) {
  cpu::best_monitor_wait().wait(word, ~0U, seen, cpu::now_ns() + poll_per_yield_ns);
  if (word.load() == seen) sched_yield();
}

struct wake_samples {
  std::vector<u64> latency_ns, waker_ns;
};

/// The calling thread wakes one on `cpu`, which sleeps in futex or polls, after leaving it idle for
/// `idle_ns`.
wake_samples wake_other(int cpu, u64 idle_ns, bool polling) {
  struct shared {
    alignas(64) std::atomic<u32> word{0};
    alignas(64) std::atomic<u32> waiting{0};
    alignas(64) std::atomic<u64> woken_ns{0};
    std::atomic<bool> stop{false};
  } s;
  std::thread sleeper([&] {
    pin(cpu);
    for (u32 seen = 0; !s.stop.load(); ++seen) {
      s.waiting.store(seen + 1);
      while (s.word.load() == seen) {
        if (polling)
          poll(s.word, seen);
        else
          futex(s.word, FUTEX_WAIT, seen);
      }
      s.woken_ns.store(cpu::now_ns());
    }
  });
  wake_samples out;
  const u64 deadline = cpu::now_ns() + arm_ns;
  for (u32 i = 0; i < samples && (i == 0 || cpu::now_ns() < deadline); ++i) {
    while (s.waiting.load() != i + 1) cpu::relax();
    spin_ns(idle_ns);
    s.woken_ns.store(0);
    const u64 start = cpu::now_ns();
    s.word.store(i + 1);
    if (!polling) futex(s.word, FUTEX_WAKE, 1);
    const u64 done = cpu::now_ns();
    u64 woken = 0;
    while ((woken = s.woken_ns.load()) == 0) cpu::relax();
    // Two CPUs' clocks may differ by a few ns.
    out.latency_ns.push_back(woken > start ? woken - start : 0);
    out.waker_ns.push_back(done - start);
  }
  s.stop.store(true);
  s.word.fetch_add(1);
  futex(s.word, FUTEX_WAKE, 1);
  sleeper.join();
  return out;
}

wake_row measure_row(int cpu, u64 idle_ns) {
  const wake_samples halted = wake_other(cpu, idle_ns, false),
                     polling = wake_other(cpu, idle_ns, true);
  return {idle_ns, quantiles(halted.latency_ns), quantiles(polling.latency_ns),
          quantiles(halted.waker_ns).p50_ns};
}

/// How late a timer wakes this CPU.
latency measure_timer() {
  const int slack = prctl(PR_GET_TIMERSLACK);
  prctl(PR_SET_TIMERSLACK, 1UL);  // the default of 50 us would be all that is seen
  std::vector<u64> late;
  const u64 end = cpu::now_ns() + arm_ns;
  for (u32 i = 0; i < samples && (i == 0 || cpu::now_ns() < end); ++i) {
    timespec at{};
    clock_gettime(CLOCK_MONOTONIC, &at);
    const u64 due =
        static_cast<u64>(at.tv_sec) * 1'000'000'000 + static_cast<u64>(at.tv_nsec) + 300'000;
    at = {static_cast<time_t>(due / 1'000'000'000), static_cast<long>(due % 1'000'000'000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
    }
    clock_gettime(CLOCK_MONOTONIC, &at);
    late.push_back(static_cast<u64>(at.tv_sec) * 1'000'000'000 + static_cast<u64>(at.tv_nsec) -
                   due);
  }
  if (slack >= 0) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack));
  return quantiles(std::move(late));
}

/// A pair of pipes and an echo on the other CPU.
class echo {
 public:
  ~echo() {
    for (int* pipe : {there_, back_})
      for (int i : {1, 0})
        if (pipe[i] >= 0) close(pipe[i]);
  }
  bool open() { return pipe2(there_, O_CLOEXEC) == 0 && pipe2(back_, O_CLOEXEC) == 0; }

  /// Median round trip of `count` turns; both ends block or both poll.
  std::vector<u64> run(int cpu, bool polling, u32 count, u64 deadline_ns) {
    for (const int fd : {there_[0], back_[0]}) fcntl(fd, F_SETFL, polling ? O_NONBLOCK : 0);
    std::thread peer([&] {
      pin(cpu);
      for (char byte = 0; receive(there_[0], byte) && byte != 'q';) send(back_[1], byte);
    });
    std::vector<u64> times;
    char byte = 'x';
    for (u32 i = 0; i < count && (i == 0 || cpu::now_ns() < deadline_ns); ++i) {
      const u64 start = cpu::now_ns();
      if (!send(there_[1], 'x') || !receive(back_[0], byte)) break;
      times.push_back(cpu::now_ns() - start);
    }
    send(there_[1], 'q');
    peer.join();
    return times;
  }

 private:
  int there_[2] = {-1, -1}, back_[2] = {-1, -1};

  static bool send(int fd, char byte) { return write(fd, &byte, 1) == 1; }
  static bool receive(int fd, char& byte) {
    for (u32 tries = 1;; ++tries) {
      const ssize_t n = read(fd, &byte, 1);
      if (n == 1) return true;
      if (n == 0 || (errno != EAGAIN && errno != EINTR)) return false;
      if (tries % tries_per_yield == 0) sched_yield();
    }
  }
};

std::variant<gain, std::string> measure_round_trip(int cpu) {
  echo e;
  if (!e.open()) return std::string("no pipe: ") + std::strerror(errno);
  std::vector<u64> all[2];
  std::vector<double> ratios;
  const u64 deadline = cpu::now_ns() + pipe_ns;
  for (u32 round = 0; round < rounds && cpu::now_ns() < deadline; ++round) {
    u64 p50[2] = {0, 0};
    for (u32 i = 0; i < 2; ++i) {
      const bool polling = (i ^ (round & 1)) != 0;
      const std::vector<u64> times = e.run(cpu, polling, turns, deadline);
      p50[polling] = quantiles(times).p50_ns;
      all[polling].insert(all[polling].end(), times.begin(), times.end());
    }
    if (p50[0] != 0 && p50[1] != 0)
      ratios.push_back(static_cast<double>(p50[0]) / static_cast<double>(p50[1]));
  }
  if (ratios.empty()) return std::string("a pipe between two threads passes nothing");
  std::sort(ratios.begin(), ratios.end());
  return gain{quantiles(all[0]), quantiles(all[1]), ratios[ratios.size() / 2],
              ratios[ratios.size() / 4], ratios[ratios.size() * 3 / 4]};
}

}  // namespace

std::variant<wake_cost, std::string> measure_wake_cost() {
  const affinity before;
  const std::vector<int> cpus = before.cpus();
  if (cpus.size() < 2)
    return "one CPU only: polling there would keep it from whoever is to wake us";
  if (!pin(cpus[0])) return std::string("cannot choose a CPU: ") + std::strerror(errno);
  wake_cost cost{};
  const u64 taken_before = interruptions();
  cost.rows[0] = measure_row(cpus[1], 30'000);
  cost.rows[1] = measure_row(cpus[1], 300'000);
  cost.timer = measure_timer();
  auto round_trip = measure_round_trip(cpus[1]);
  if (auto* why = std::get_if<std::string>(&round_trip)) return *why;
  cost.round_trip = std::get<gain>(round_trip);
  cost.worth = cost.round_trip.low > noise;
  cost.interruptions = interruptions() - taken_before;
  return cost;
}

}  // namespace haltpoll::cli
