#include <haltpoll/wait/waiter.hpp>
#include <type_traits>

#include "back_ends.hpp"

namespace {

using namespace haltpoll::wait;
using namespace std::chrono_literals;

template <class Governor>
using counted = basic_waiter<Governor, counting_stats>;

static_assert(!std::is_copy_constructible_v<waiter>);
constinit waiter global_waiter;

class waiter_test : public test::back_end {};
HALTPOLL_FOR_ALL_BACK_ENDS(waiter_test);

TEST(waiter, a_notify_since_prepare_ends_the_wait) {
  for (bool all : {false, true}) {
    const auto key = global_waiter.prepare();
    all ? global_waiter.notify_all() : global_waiter.notify_one();
    global_waiter.wait(key);
    EXPECT_TRUE(global_waiter.wait_for(key, 0s));
  }
}

TEST(waiter, a_notify_before_prepare_does_not) {
  counted<test::always> w;
  w.notify_one();
  EXPECT_FALSE(w.wait_for(w.prepare(), 100us));
  EXPECT_FALSE(w.wait_until(w.prepare(), std::chrono::steady_clock::now() + 2ms));
}

/// Tokens in a plain atomic, the waiter only says when to look again.
template <class Waiter>
struct tokens {
  Waiter waiter;
  std::atomic<int> count{0};

  bool pop() {
    int n = count.load(std::memory_order_relaxed);
    while (n > 0) {
      if (count.compare_exchange_weak(n, n - 1, std::memory_order_acquire)) return true;
    }
    return false;
  }
  void take() {
    for (;;) {
      if (pop()) return;
      const auto key = waiter.prepare();
      if (pop()) return;
      waiter.wait(key);
    }
  }
  void give() {
    count.fetch_add(1, std::memory_order_release);
    waiter.notify_one();
  }
};

template <class Governor>
void every_token_once(int consumers, int producers, int n) {
  tokens<counted<Governor>> t;
  std::vector<std::thread> pool;
  for (int i = 0; i < consumers; ++i) {
    pool.emplace_back([&] {
      for (int k = 0; k < n / consumers; ++k) t.take();
    });
  }
  for (int i = 0; i < producers; ++i) {
    pool.emplace_back([&] {
      for (int k = 0; k < n / producers; ++k) t.give();
    });
  }
  for (auto& thread : pool) thread.join();
  EXPECT_EQ(t.count, 0);
}

TEST_P(waiter_test, every_token_is_taken_once) {
  every_token_once<haltpoll_governor<>>(1, 1, test::many / 10);
  every_token_once<haltpoll_governor<>>(4, 4, test::many / 25);
  every_token_once<test::always>(4, 2, test::many / 25);
  every_token_once<test::never_polls>(4, 4, test::many / 25);
  every_token_once<host_governor<>>(2, 2, test::many / 25);
  every_token_once<breakeven_governor<>>(2, 2, test::many / 25);
}

TEST_P(waiter_test, no_hand_off_is_lost) {
  tokens<waiter> ping, pong;
  long sum = 0;  // not atomic: notify and prepare must order it
  std::thread peer([&] {
    for (int i = 0; i < test::many; ++i) {
      ping.take();
      ++sum;
      pong.give();
    }
  });
  for (int i = 0; i < test::many; ++i) {
    ping.give();
    pong.take();
    ASSERT_EQ(sum, i + 1);
  }
  peer.join();
}

TEST(waiter, notify_all_ends_all_waits) {
  counted<test::always> w;
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> pool;
  for (int i = 0; i < 6; ++i) {
    pool.emplace_back([&] {
      for (;;) {
        const auto key = w.prepare();
        if (go) return;
        ++ready;
        w.wait(key);
      }
    });
  }
  while (ready < 6) std::this_thread::yield();
  test::let_others_run();
  go = true;
  w.notify_all();
  for (auto& t : pool) t.join();
}

TEST(waiter, a_notify_that_nobody_waits_for_wakes_nobody) {
  counted<haltpoll_governor<>> w;
  for (int i = 0; i < 1000; ++i) w.notify_one();
  for (int i = 0; i < 1000; ++i) w.notify_all();
  EXPECT_EQ(w.stats().wakes, 0u);
}

}  // namespace
