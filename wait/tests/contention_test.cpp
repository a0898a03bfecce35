// A poll gives way: where somebody else needs the CPU, waiting degrades to sleeping.
#include <sched.h>

#include <haltpoll/wait/event.hpp>

#include "back_ends.hpp"

namespace {

using namespace haltpoll::wait;

using polling = basic_event<reset::automatic, test::always, counting_stats>;

class contention : public test::back_end {
 protected:
  // Threads inherit the one CPU.
  void SetUp() override {
    test::back_end::SetUp();
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  void TearDown() override {
    sched_setaffinity(0, sizeof before_, &before_);
    test::back_end::TearDown();
  }

 private:
  cpu_set_t before_;
};
HALTPOLL_FOR_ALL_BACK_ENDS(contention);

TEST_P(contention, two_threads_on_one_cpu_stop_polling) {
  constexpr u64 n = 5'000;
  polling ping, pong;
  std::thread peer([&] {
    for (u64 i = 0; i < n; ++i) {
      ping.wait();
      pong.set();
    }
  });
  for (u64 i = 0; i < n; ++i) {
    ping.set();
    pong.wait();
  }
  peer.join();
  for (const auto* e : {&ping, &pong}) {
    // The governor would poll before each of the 5000 waits. The back-off lets 1, 3, 7, ... waits
    // pass between polls.
    EXPECT_GT(e->stats().contention, 0u);
    EXPECT_GT(e->stats().backoffs, n / 2);
    EXPECT_LT(e->stats().polls, n / 10);
  }
}

TEST_P(contention, a_busy_neighbour_is_left_the_cpu) {
  std::atomic<bool> stop{false};
  std::thread neighbour([&] {
    while (!stop) {
    }
  });
  polling e;
  for (int i = 0; i < 200; ++i) e.wait_for(std::chrono::microseconds(500));
  stop = true;
  neighbour.join();
  EXPECT_LT(e.stats().polls, 100u);
  EXPECT_GT(e.stats().backoffs, 50u);
}

}  // namespace
