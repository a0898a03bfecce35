// Hands an event to and fro between two threads, then prints how often, and how many futex calls
// that should have taken. For no_syscall_test, which counts them from outside.
#include <stdio.h>

#include <haltpoll/wait/event.hpp>
#include <thread>

int main() {
  using namespace haltpoll::wait;
  basic_event<reset::automatic, haltpoll_governor<>, counting_stats> ping, pong;
  constexpr int n = 20'000;
  std::thread peer([&] {
    for (int i = 0; i < n; ++i) {
      ping.wait();
      pong.set();
    }
  });
  for (int i = 0; i < n; ++i) {
    ping.set();
    pong.wait();
  }
  peer.join();
  u64 calls = 0;
  for (const auto* e : {&ping, &pong}) calls += e->stats().blocks + e->stats().wakes;
  printf("%d %llu\n", 2 * n, calls);
}
