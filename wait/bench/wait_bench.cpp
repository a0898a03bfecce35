// What the primitives cost, beside what else there is. Compare `best_ns` of one run, the time of
// one hand-off (an iteration is 400) or notify: the machine's other loads disturb means, and two
// threads that do not run at the same time measure the scheduler. The baseline is `raw_line`: two
// threads that answer each other through one cache line, which is as fast as two CPUs can talk.
#include <benchmark/benchmark.h>
#include <pthread.h>

#include <algorithm>
#include <haltpoll/wait/wait.hpp>
#include <thread>

namespace {

using namespace haltpoll::wait;
using haltpoll::cpu::now_ns;

using never_polls = fixed_governor<haltpoll::core::fixed::params{0}>;
using always_polls = fixed_governor<haltpoll::core::fixed::params{1'000'000}>;

/// Two directions of hand-off; `Way` has give() and take().
template <class Way>
void hand_off(benchmark::State& state) {
  constexpr int batch = 200;  // a reading of the clock on both sides is 60 ns
  Way there, back;
  std::thread peer([&] {
    for (auto n = state.max_iterations * batch; n != 0; --n) {
      there.take();
      back.give();
    }
  });
  u64 best = haltpoll::core::never;
  for (auto _ : state) {
    const u64 start = now_ns();
    for (int i = 0; i < batch; ++i) {
      there.give();
      back.take();
    }
    const u64 ns = now_ns() - start;
    state.SetIterationTime(static_cast<double>(ns) * 1e-9);
    best = std::min(best, ns);
  }
  peer.join();
  state.SetItemsProcessed(state.iterations() * 2 * batch);
  state.counters["best_ns"] = static_cast<double>(best) / (2 * batch);
}

struct alignas(64) line {
  std::atomic<u32> sent{0};
  alignas(64) u32 received = 0;
};
struct raw_line : line {
  void give() { sent.store(sent.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  void take() {
    while (sent.load(std::memory_order_acquire) == received) haltpoll::cpu::relax();
    ++received;
  }
};
struct with_wait_on : line {
  void give() {
    sent.fetch_add(1, std::memory_order_release);
    notify_one(sent);
  }
  void take() { wait_on(sent, received++, std::memory_order_acquire); }
};
struct with_std_atomic : line {
  void give() {
    sent.fetch_add(1, std::memory_order_release);
    sent.notify_one();
  }
  void take() { sent.wait(received++, std::memory_order_acquire); }
};
struct with_waiter : line {
  waiter w;
  void give() {
    sent.fetch_add(1, std::memory_order_release);
    w.notify_one();
  }
  void take() {
    while (sent.load(std::memory_order_acquire) == received) {
      const auto key = w.prepare();
      if (sent.load(std::memory_order_acquire) != received) break;
      w.wait(key);
    }
    ++received;
  }
};
template <class Event>
struct with_event {
  Event e;
  void give() { e.set(); }
  void take() { e.wait(); }
};
struct with_semaphore {
  semaphore s{0};
  void give() { s.release(); }
  void take() { s.acquire(); }
};
struct with_pthread_cond {
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t c = PTHREAD_COND_INITIALIZER;
  bool there = false;
  void give() {
    pthread_mutex_lock(&m);
    there = true;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
  }
  void take() {
    pthread_mutex_lock(&m);
    while (!there) pthread_cond_wait(&c, &m);
    there = false;
    pthread_mutex_unlock(&m);
  }
};
using with_blocking_event = with_event<basic_event<reset::automatic, never_polls>>;

BENCHMARK_TEMPLATE(hand_off, raw_line)->UseManualTime();
BENCHMARK_TEMPLATE(hand_off, with_event<event>)->UseManualTime();
BENCHMARK_TEMPLATE(hand_off, with_semaphore)->UseManualTime();
BENCHMARK_TEMPLATE(hand_off, with_waiter)->UseManualTime();
BENCHMARK_TEMPLATE(hand_off, with_wait_on)->UseManualTime();
BENCHMARK_TEMPLATE(hand_off, with_std_atomic)->UseManualTime();
BENCHMARK_TEMPLATE(hand_off, with_pthread_cond)->UseManualTime();
BENCHMARK_TEMPLATE(hand_off, with_blocking_event)->UseManualTime();

void notify_nobody_event(benchmark::State& state) {
  event e;
  for (auto _ : state) e.set();
}
void notify_nobody_semaphore(benchmark::State& state) {
  semaphore s(0);
  for (auto _ : state) {
    s.release();
    s.try_acquire();
  }
}
void notify_nobody_waiter(benchmark::State& state) {
  waiter w;
  for (auto _ : state) w.notify_one();
}
void notify_nobody_wait_on(benchmark::State& state) {
  std::atomic<int> a{0};
  for (auto _ : state) notify_one(a);
}
BENCHMARK(notify_nobody_event);
BENCHMARK(notify_nobody_semaphore);  // with the try_acquire that takes the token
BENCHMARK(notify_nobody_waiter);
BENCHMARK(notify_nobody_wait_on);

/// set() while the waiter polls (Governor: always_polls) or sleeps (never_polls). One clock reading
/// is in it, 30 ns.
template <class Governor>
void notify_waiting(benchmark::State& state) {
  basic_event<reset::automatic, Governor> e;
  std::atomic<u64> taken{0};
  const u64 n = state.max_iterations;
  std::thread peer([&] {
    for (u64 i = 0; i < n; ++i) {
      e.wait();
      taken.store(i + 1, std::memory_order_release);
    }
  });
  u64 best = haltpoll::core::never, i = 0;
  for (auto _ : state) {
    // Past the first looks, and asleep where it does not poll.
    const u64 ready = now_ns() + 20'000;
    while (now_ns() < ready) haltpoll::cpu::relax();
    const u64 start = now_ns();
    e.set();
    const u64 ns = now_ns() - start;
    ++i;
    while (taken.load(std::memory_order_acquire) != i) haltpoll::cpu::relax();
    state.SetIterationTime(static_cast<double>(ns) * 1e-9);
    best = std::min(best, ns);
  }
  peer.join();
  state.counters["best_ns"] = static_cast<double>(best);
}
BENCHMARK_TEMPLATE(notify_waiting, always_polls)->UseManualTime()->Iterations(2000);
BENCHMARK_TEMPLATE(notify_waiting, never_polls)->UseManualTime()->Iterations(2000);

}  // namespace
