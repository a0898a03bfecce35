#include <haltpoll/wait/event.hpp>
#include <memory>
#include <type_traits>

#include "back_ends.hpp"

namespace {

using namespace haltpoll::wait;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

using counted = basic_event<reset::automatic, haltpoll_governor<>, counting_stats>;
using polling = basic_event<reset::automatic, test::always, counting_stats>;
using blocking = basic_event<reset::automatic, test::never_polls, counting_stats>;

static_assert(!std::is_copy_constructible_v<event> && !std::is_move_constructible_v<event>);
static_assert(sizeof(event) == 64 && alignof(event) == 64);
constinit event global_event;  // needs no constructor to run

class event_test : public test::back_end {};
HALTPOLL_FOR_ALL_BACK_ENDS(event_test);

TEST(event, resets_itself) {
  event e;
  EXPECT_FALSE(e.try_wait());
  e.set();
  e.set();
  EXPECT_TRUE(e.try_wait());
  EXPECT_FALSE(e.try_wait());
}

TEST(event, can_start_set_and_be_reset) {
  event e(true);
  e.reset();
  EXPECT_FALSE(e.try_wait());
  e.set();
  e.wait();
  global_event.set();
  global_event.wait();
}

TEST(event, manual_stays_set) {
  manual_event e;
  e.set();
  e.wait();
  EXPECT_TRUE(e.try_wait());
  EXPECT_TRUE(e.wait_for(0s));
  e.reset();
  EXPECT_FALSE(e.try_wait());
}

template <class Event>
void hand_off(int n) {
  Event ping, pong;
  long sum = 0, expected = 0;  // not atomic: the events must order it
  std::thread peer([&] {
    for (int i = 0; i < n; ++i) {
      ping.wait();
      sum += i;
      pong.set();
    }
  });
  for (int i = 0; i < n; ++i) {
    expected += i;
    ping.set();
    pong.wait();
    ASSERT_EQ(sum, expected);
  }
  peer.join();
  EXPECT_FALSE(ping.try_wait() || pong.try_wait());
}

TEST_P(event_test, no_hand_off_is_lost) { hand_off<counted>(test::many); }
TEST_P(event_test, no_hand_off_is_lost_polling) { hand_off<polling>(test::many / 10); }
TEST(event, no_hand_off_is_lost_blocking) { hand_off<blocking>(test::many / 20); }

TEST_P(event_test, a_ring_of_more_threads_than_cpus) {
  // A ring that is passed around: more threads than CPUs, one of them awake.
  constexpr int threads = 8, rounds = 500;
  std::vector<std::unique_ptr<counted>> ring;
  for (int i = 0; i < threads; ++i) ring.push_back(std::make_unique<counted>());
  std::vector<std::thread> pool;
  for (int i = 0; i < threads; ++i) {
    pool.emplace_back([&, i] {
      for (int r = 0; r < rounds; ++r) {
        ring[i]->wait();
        ring[(i + 1) % threads]->set();
      }
    });
  }
  ring[0]->set();
  for (auto& t : pool) t.join();
  EXPECT_TRUE(ring[0]->try_wait());
}

TEST(event, one_set_lets_one_of_many_through) {
  basic_event<reset::automatic, test::always> e;
  std::atomic<int> through{0};
  std::vector<std::thread> pool;
  for (int i = 0; i < 6; ++i) {
    pool.emplace_back([&] {
      e.wait();
      ++through;
    });
  }
  for (int i = 1; i <= 6; ++i) {
    test::let_others_run();
    e.set();
    while (through < i) std::this_thread::yield();
    EXPECT_EQ(through, i);
  }
  for (auto& t : pool) t.join();
}

TEST(event, manual_set_lets_all_through) {
  basic_event<reset::manual, test::always> e;
  std::vector<std::thread> pool;
  for (int i = 0; i < 6; ++i) pool.emplace_back([&] { e.wait(); });
  test::let_others_run();
  e.set();
  for (auto& t : pool) t.join();
}

TEST(event, thousands_at_once) {
  constexpr int n = 5'000;
  std::vector<event> events(n);
  std::thread setter([&] {
    for (auto& e : events) e.set();
  });
  for (auto& e : events) e.wait();
  setter.join();
}

template <class Event>
void times_out() {
  Event e;
  for (const auto d : {0ns, 1ns, 30'000ns, 3'000'000ns}) {
    const auto before = clock::now();
    EXPECT_FALSE(e.wait_for(d));
    EXPECT_GE(clock::now() - before, d);
  }
  const auto at = clock::now() + 1ms;
  EXPECT_FALSE(e.wait_until(at));
  EXPECT_GE(clock::now(), at);
  EXPECT_FALSE(e.wait_until(clock::time_point::min()));
  EXPECT_FALSE(e.wait_for(-1h));
  e.set();
  EXPECT_TRUE(e.wait_for(0s)) << "an event that is set needs no time";
  e.set();
  EXPECT_TRUE(e.wait_until(clock::time_point::max()));
}

TEST_P(event_test, time_out_polling) { times_out<polling>(); }
TEST(event, time_out_blocking) { times_out<blocking>(); }

TEST(event, set_during_a_timed_wait) {
  polling e;
  std::thread setter([&] {
    test::let_others_run();
    e.set();
  });
  EXPECT_TRUE(e.wait_for(10min));
  setter.join();
}

TEST(event, a_window_of_0_never_polls) {
  blocking e;
  EXPECT_FALSE(e.wait_for(2ms));
  EXPECT_EQ(e.stats().polls, 0u);
  EXPECT_EQ(e.stats().looks, 0u);
  EXPECT_EQ(e.stats().blocks, 1u);
}

TEST(event, a_poll_ends_with_its_window) {
  basic_event<reset::automatic, fixed_governor<haltpoll::core::fixed::params{20'000}>,
              counting_stats>
      e;
  EXPECT_FALSE(e.wait_for(20ms));
  EXPECT_EQ(e.stats().polls, 1u);
  EXPECT_EQ(e.stats().hits, 0u);
  EXPECT_EQ(e.stats().blocks, 1u);
}

TEST(event, long_idle_ends_polling) {
  // core::haltpoll: blocks of more than 200 us shrink the window to nothing.
  counted e;
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(e.wait_for(1ms));
  const u64 polls = e.stats().polls;
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(e.wait_for(1ms));
  EXPECT_EQ(e.stats().polls, polls);
}

TEST(event, may_be_destroyed_by_its_waiter) {
  for (int i = 0; i < test::many / 500; ++i) {
    auto e = std::make_unique<event>();
    std::thread setter([p = e.get()] { p->set(); });
    e->wait();
    e.reset();  // the setter may still be inside set()
    setter.join();
  }
}

}  // namespace
