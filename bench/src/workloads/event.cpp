// event: one thread tells another, on another CPU, that something happened: the wait library's
// event beside what C++ programs use today, and beside two threads that spin on a cache line and
// never sleep, which is the limit.
//
// An operation is a round trip, two hand-offs. The threads hold the turn for 5 to 15 us between
// being woken and passing it on, as threads with something to do would; the two holds are not part
// of the operation. Without them the comparison flatters whoever spins a fixed number of turns
// before sleeping: std::atomic::wait of libstdc++ spins for 4 us here, catches a peer that answers
// at once, and sleeps for every other. That tight figure is in `parts`.
#include <absl/synchronization/mutex.h>
#include <pthread.h>
#include <sys/resource.h>
#include <tbb/concurrent_queue.h>

#include <algorithm>
#include <atomic>
#include <haltpoll/cpu/clock.hpp>
#include <haltpoll/cpu/relax.hpp>
#include <numeric>

#include "../hand_off.hpp"
#include "../load.hpp"
#include "../statistics.hpp"
#include "all.hpp"

namespace haltpoll::bench {
namespace {

/// Shortest and longest hold: longer than the longest fixed spin among the arms (std::atomic::wait:
/// 12 relaxes and 4 yields of 0.8 us), far below any window, and spread so that none falls in step
/// with what a waiter does every few us (ours offers its CPU every 4 us).
constexpr u64 shortest_hold_ns = 5'000;
constexpr u64 longest_hold_ns = 15'000;
/// Tight round trips take 0.1 us, three readings of the clock; so many are timed as one.
constexpr u64 tight_batch = 64;
/// Enough for a median, and few: where others need the CPU, each yield of a fixed spin costs their
/// time slices (a round trip of std::atomic::wait 0.1 s with 7 runnable threads per CPU).
constexpr u64 most_tight_batches = 15;
/// Round trips of each kind that come first and do not count. The default governor polls from the
/// third wait on.
constexpr u64 settle_ops = 64;

// The flags: post() makes one take() return. At most one post is ever outstanding. What a library's
// lock guards is a relaxed atomic, because a thread sanitizer does not see into prebuilt locks.

class raw : public no_polls {
 public:
  void post() { word_.store(1, std::memory_order_release); }
  void take() {
    while (word_.load(std::memory_order_acquire) == 0) cpu::relax();
    word_.store(0, std::memory_order_relaxed);
  }

 private:
  std::atomic<u32> word_{0};
};

class pthread_cond : public no_polls {
 public:
  void post() {
    pthread_mutex_lock(&mutex_);
    set_ = true;
    pthread_mutex_unlock(&mutex_);
    pthread_cond_signal(&cond_);
  }
  void take() {
    pthread_mutex_lock(&mutex_);
    while (!set_) pthread_cond_wait(&cond_, &mutex_);
    set_ = false;
    pthread_mutex_unlock(&mutex_);
  }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond_ = PTHREAD_COND_INITIALIZER;
  bool set_ = false;
};

class std_atomic_wait : public no_polls {
 public:
  void post() {
    // Not release: notify_one() of libstdc++ 12 then loads whether anybody waits, without a fence
    // before it; a store that is still on its way would be a lost wake-up.
    word_.store(1);
    word_.notify_one();
  }
  void take() {
    word_.wait(0, std::memory_order_acquire);
    word_.store(0, std::memory_order_relaxed);
  }

 private:
  std::atomic<int> word_{0};  // int: the type libstdc++ waits on without a proxy
};

class absl_cond_var : public no_polls {
 public:
  void post() {
    mutex_.Lock();
    set_.store(true, std::memory_order_relaxed);
    mutex_.Unlock();
    cond_.Signal();
  }
  void take() {
    mutex_.Lock();
    while (!set_.load(std::memory_order_relaxed)) cond_.Wait(&mutex_);
    set_.store(false, std::memory_order_relaxed);
    mutex_.Unlock();
  }

 private:
  absl::Mutex mutex_;
  absl::CondVar cond_;
  std::atomic<bool> set_{false};
};

class tbb_queue : public no_polls {
 public:
  void post() { queue_.push(1); }
  void take() {
    char token;
    queue_.pop(token);
  }

 private:
  tbb::concurrent_bounded_queue<char> queue_;
};

/// What one reading of the clock takes: the median of readings back to back.
u64 clock_reading_ns() {
  std::vector<u64> stamps(1001);
  for (u64& s : stamps) s = cpu::now_ns();
  return from_stamps(stamps).p50_ns;
}

/// Holds the turn for a time that depends on `turn` only, the same in every arm; returns for how
/// long. The last reading of the clock is the end, so nothing happens between it and the post.
u64 hold(u64 since, u64 turn) {
  // Multiplicative hashing: the upper bits of turn * 2^64/phi are spread evenly.
  const u64 spread = (turn * 0x9e37'79b9'7f4a'7c15ULL) >> 32;
  const u64 hold_ns = shortest_hold_ns + spread % (longest_hold_ns - shortest_hold_ns);
  u64 now = since;
  while (now - since < hold_ns) now = cpu::now_ns();
  return now - since;
}

template <class Flag>
outcome hand_off(const job& j) {
  if (j.ops == 0) return "needs at least one operation";
  alignas(64) Flag there;
  alignas(64) Flag back;
  const u64 batches = std::min(most_tight_batches, (j.ops + tight_batch - 1) / tight_batch);
  const u64 tight = settle_ops + batches * tight_batch, held = settle_ops + j.ops;
  std::vector<u64> peer_held(held);  // filled now, so that no page fault is timed
  std::vector<u64> times(held);
  std::vector<u64> batch_ns(batches);

  std::thread peer;
  const std::string problem = start_peer(peer, j, [&] {
    for (u64 i = 0; i < tight; ++i) there.take(), back.post();
    for (u64 i = 0; i < held; ++i) {
      there.take();
      peer_held[i] = hold(cpu::now_ns(), 2 * i + 1);
      back.post();
    }
  });
  if (!problem.empty()) return problem;

  const auto round_trip = [&] { there.post(), back.take(); };
  for (u64 i = 0; i < settle_ops; ++i) round_trip();
  for (u64& ns : batch_ns) {
    const u64 from = cpu::now_ns();
    for (u64 i = 0; i < tight_batch; ++i) round_trip();
    ns = cpu::now_ns() - from;
  }
  usage before;
  u64 start = 0, now = cpu::now_ns();
  for (u64 i = 0; i < held; ++i) {
    if (i == settle_ops) before = usage_of(RUSAGE_SELF), now = start = cpu::now_ns();
    const u64 posted = now + hold(now, 2 * i);
    round_trip();
    now = cpu::now_ns();
    times[i] = now - posted;
  }
  const usage used = usage_of(RUSAGE_SELF) - before;
  peer.join();
  for (u64 i = 0; i < held; ++i) times[i] -= peer_held[i];
  times.erase(times.begin(), times.begin() + settle_ops);

  // Each hand-off is seen from the last clock reading of the one to the first of the other: one
  // whole reading too much.
  const u64 two_readings = 2 * clock_reading_ns();
  sample s;
  s.ops = j.ops;
  s.wall_ns = now - start;
  s.cpu_ns = used.cpu_ns;
  s.halts = used.halts;
  s.p50_ns = percentile(times, 500);
  s.p99_ns = percentile(times, 990);
  s.mean_ns = std::accumulate(times.begin(), times.end(), u64{0}) / j.ops;
  if (std::min(s.p50_ns, s.mean_ns) <= two_readings)
    return "a round trip was no longer than two readings of the clock";
  for (u64* ns : {&s.p50_ns, &s.p99_ns, &s.mean_ns}) *ns -= two_readings;
  s.polls = there.polls() + back.polls();
  s.hits = there.hits() + back.hits();
  s.parts = {{"without_hold", 1e9 * tight_batch / static_cast<double>(percentile(batch_ns, 500))}};
  return s;
}

using runner = outcome (*)(const job&);
/// In the order of event_arms.
constexpr runner runners[] = {
    hand_off<raw>,           hand_off<pthread_cond>, hand_off<std_atomic_wait>,
    hand_off<absl_cond_var>, hand_off<tbb_queue>,    hand_off<wait_flag>};
static_assert(std::size(runners) == std::size(event_arms));

}  // namespace

outcome run_event(const job& j) {
  for (std::size_t i = 0; i < std::size(runners); ++i)
    if (j.variant == event_arms[i]) return runners[i](j);
  return "unknown arm \"" + j.variant + "\"";
}

}  // namespace haltpoll::bench
