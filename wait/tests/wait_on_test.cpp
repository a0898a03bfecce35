#include <haltpoll/wait/wait_on.hpp>
#include <memory>

#include "back_ends.hpp"

namespace {

using namespace haltpoll::wait;
using namespace std::chrono_literals;

class wait_on_test : public test::back_end {};
HALTPOLL_FOR_ALL_BACK_ENDS(wait_on_test);

TEST(wait_on, returns_at_once_where_the_value_differs) {
  std::atomic<int> a{1};
  wait_on(a, 0);
  EXPECT_TRUE(wait_on_for(a, 0, 0s));
  EXPECT_FALSE(wait_on_for(a, 1, 0s));
}

TEST(wait_on, times_out) {
  std::atomic<int> a{0};
  for (const auto d : {-1ns, 30'000ns, 3'000'000ns}) {
    const auto before = std::chrono::steady_clock::now();
    EXPECT_FALSE(wait_on_for(a, 0, d));
    EXPECT_GE(std::chrono::steady_clock::now() - before, d);
    EXPECT_FALSE(wait_on_until(a, 0, before + d));
  }
}

template <class T>
void hand_off(int n, T zero, T one) {
  std::atomic<T> turn{zero};
  long sum = 0;  // not atomic: the turn must order it
  std::thread peer([&] {
    for (int i = 0; i < n; ++i) {
      wait_on(turn, zero, std::memory_order_acquire);
      ++sum;
      turn.store(zero, std::memory_order_release);
      notify_one(turn);
    }
  });
  for (int i = 0; i < n; ++i) {
    turn.store(one, std::memory_order_release);
    notify_one(turn);
    wait_on(turn, one, std::memory_order_acquire);
    ASSERT_EQ(sum, i + 1);
  }
  peer.join();
}

TEST_P(wait_on_test, no_hand_off_is_lost) {
  hand_off<u32>(test::many, 0, 1);
  hand_off<u64>(test::many / 10, 0, ~0ULL);
}

TEST_P(wait_on_test, every_size) {
  hand_off<char>(test::many / 50, 'a', 'b');
  hand_off<short>(test::many / 50, -1, 1);
  hand_off<bool>(test::many / 50, false, true);
  hand_off<float>(test::many / 50, 0.0f, -0.0f);  // representations count, not values
  int x = 0;
  hand_off<int*>(test::many / 50, nullptr, &x);
}

TEST_P(wait_on_test, a_change_with_relaxed_order_is_not_lost) {
  // The notify is the fence: nothing else orders the change and the look for sleepers.
  std::atomic<int> turn{0};
  const int n = test::many / 10;
  std::thread peer([&] {
    for (int i = 0; i < n; i += 2) {
      wait_on(turn, i, std::memory_order_relaxed);
      turn.store(i + 2, std::memory_order_relaxed);
      notify_one(turn);
    }
  });
  for (int i = 0; i < n; i += 2) {
    turn.store(i + 1, std::memory_order_relaxed);
    notify_one(turn);
    wait_on(turn, i + 1, std::memory_order_relaxed);
  }
  peer.join();
}

TEST(wait_on, more_atomics_than_rows) {
  constexpr int n = 1000;
  const auto turns = std::make_unique<std::atomic<int>[]>(n);
  std::vector<std::thread> pool;
  for (int t = 0; t < 4; ++t) {
    pool.emplace_back([&, t] {
      for (int i = t; i < n; i += 4) wait_on(turns[i], 0);
    });
  }
  for (int i = 0; i < n; ++i) {
    turns[i] = 1;
    notify_all(turns[i]);
  }
  for (auto& thread : pool) thread.join();
}

TEST(wait_on, notify_all_wakes_all) {
  std::atomic<int> a{0};
  std::vector<std::thread> pool;
  for (int i = 0; i < 6; ++i) pool.emplace_back([&] { wait_on(a, 0); });
  test::let_others_run();
  a = 1;
  notify_all(a);
  for (auto& t : pool) t.join();
}

}  // namespace
