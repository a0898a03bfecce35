// idle: CPU burnt while nothing happens. Four threads wait, two in epoll_wait and two on events of
// the wait library; one of each pair has nothing to do at all, the other wakes every 10 ms to find
// that nothing came, as event loops with a timer tick do. Past the window a governor has no
// business polling, so what is left must be the price of those wakes.
//
// An operation is one second of wall time: CPU per operation is ns per second, 10,000,000 is 1 %.
// The events poll in both arms of --backends; only the epoll threads differ.
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>

#include <array>
#include <atomic>
#include <functional>
#include <haltpoll/cpu/clock.hpp>
#include <thread>

#include "../hand_off.hpp"
#include "../load.hpp"
#include "all.hpp"

namespace haltpoll::bench {
namespace {

constexpr u64 second_ns = 1'000'000'000, tick_ns = 10'000'000;
/// Seconds measured unless the job says otherwise; before them as many without work as
/// haltpoll promises to be asleep after.
constexpr u64 default_seconds = 2, settle_seconds = 1;

/// Sleeps in the kernel on one eventfd, with or without a tick.
class epoll_sleeper {
 public:
  bool open() {
    epoll_event readable{};
    readable.events = EPOLLIN;
    bell_ = file(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    poll_ = file(epoll_create1(EPOLL_CLOEXEC));
    return bell_.ok() && poll_.ok() &&
           epoll_ctl(poll_.get(), EPOLL_CTL_ADD, bell_.get(), &readable) == 0;
  }
  /// Returns once woken. Without a tick: -1.
  void sleep(int tick_ms) {
    epoll_event e;
    while (epoll_wait(poll_.get(), &e, 1, tick_ms) != 1) {
    }
  }
  void wake() { eventfd_write(bell_.get(), 1); }

 private:
  file bell_, poll_;
};

struct waiter {
  const char* name;
  std::function<void()> wait;
  std::thread thread;
  clockid_t clock;
  u64 used_ns;
};

u64 read(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<u64>(t.tv_sec) * second_ns + static_cast<u64>(t.tv_nsec);
}

void nothing_for(u64 seconds) {
  timespec left{static_cast<time_t>(seconds), 0};
  while (nanosleep(&left, &left) != 0) {
  }
}

}  // namespace

outcome run_idle(const job& j) {
  const u64 seconds = j.ops == 0 ? default_seconds : j.ops;
  epoll_sleeper silent_poll, ticking_poll;
  if (!silent_poll.open() || !ticking_poll.open()) return failure("epoll");
  wait_flag silent_event, ticking_event;
  std::array<waiter, 4> waiters{{
      {"epoll_silent", [&] { silent_poll.sleep(-1); }, {}, {}, 0},
      {"epoll_ticking", [&] { ticking_poll.sleep(tick_ns / 1'000'000); }, {}, {}, 0},
      {"event_silent", [&] { silent_event.take(); }, {}, {}, 0},
      {"event_ticking",
       [&] {
         while (!ticking_event.take_for(tick_ns)) {
         }
       },
       {},
       {},
       0},
  }};
  for (waiter& w : waiters) {
    w.thread = std::thread(w.wait);
    pthread_getcpuclockid(w.thread.native_handle(), &w.clock);
  }
  nothing_for(settle_seconds);

  const u64 halts = usage_of(RUSAGE_SELF).halts;
  for (waiter& w : waiters) w.used_ns = read(w.clock);
  const u64 start = cpu::now_ns();
  nothing_for(seconds);
  for (waiter& w : waiters) w.used_ns = read(w.clock) - w.used_ns;
  sample s;
  s.wall_ns = cpu::now_ns() - start;
  s.halts = usage_of(RUSAGE_SELF).halts - halts;

  silent_poll.wake(), ticking_poll.wake(), silent_event.post(), ticking_event.post();
  for (waiter& w : waiters) w.thread.join();
  s.ops = seconds;
  for (const waiter& w : waiters) {
    s.cpu_ns += w.used_ns;
    s.parts.push_back(
        {w.name, static_cast<double>(w.used_ns) * second_ns / static_cast<double>(s.wall_ns)});
  }
  s.p50_ns = s.p99_ns = s.mean_ns = s.cpu_ns / seconds;
  return s;
}

}  // namespace haltpoll::bench
