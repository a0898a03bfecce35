#include <haltpoll/wait/semaphore.hpp>
#include <type_traits>

#include "back_ends.hpp"

namespace {

using namespace haltpoll::wait;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

template <class Governor>
using counted = basic_semaphore<Governor, counting_stats>;

static_assert(!std::is_copy_constructible_v<semaphore>);
constinit semaphore global_semaphore(1);

class semaphore_test : public test::back_end {};
HALTPOLL_FOR_ALL_BACK_ENDS(semaphore_test);

TEST(semaphore, counts) {
  semaphore s(2);
  s.acquire();
  EXPECT_TRUE(s.try_acquire());
  EXPECT_FALSE(s.try_acquire());
  s.release(3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(s.try_acquire());
  EXPECT_FALSE(s.try_acquire());
  EXPECT_TRUE(global_semaphore.try_acquire());
}

TEST(semaphore, holds_its_maximum) {
  semaphore s(0);
  s.release(semaphore::max());
  EXPECT_TRUE(s.try_acquire());
  s.release();
  EXPECT_TRUE(s.try_acquire_for(0s));
}

TEST(semaphore, times_out) {
  counted<test::always> polling(0);
  counted<test::never_polls> blocking(0);
  for (const auto d : {-1ns, 0ns, 30'000ns, 3'000'000ns}) {
    const auto before = clock::now();
    EXPECT_FALSE(polling.try_acquire_for(d));
    EXPECT_FALSE(blocking.try_acquire_for(d));
    EXPECT_GE(clock::now() - before, 2 * std::max(d, 0ns));
    EXPECT_FALSE(polling.try_acquire_until(before + d));
  }
  polling.release();
  EXPECT_TRUE(polling.try_acquire_until(clock::time_point::min())) << "a token needs no time";
  EXPECT_EQ(blocking.stats().polls, 0u);
}

/// Every token is taken exactly once, whoever sleeps, polls or barges.
template <class Governor>
void every_token_once(int consumers, int producers, int per_producer, u32 at_once) {
  counted<Governor> s(0);
  std::atomic<int> taken{0};
  const int total = producers * per_producer;
  std::vector<std::thread> pool;
  for (int i = 0; i < consumers; ++i) {
    pool.emplace_back([&, n = total / consumers + (i < total % consumers ? 1 : 0)] {
      for (int k = 0; k < n; ++k) {
        s.acquire();
        ++taken;
      }
    });
  }
  for (int i = 0; i < producers; ++i) {
    pool.emplace_back([&] {
      for (int k = 0; k < per_producer; k += static_cast<int>(at_once)) s.release(at_once);
    });
  }
  for (auto& t : pool) t.join();
  EXPECT_EQ(taken, total);
  EXPECT_FALSE(s.try_acquire());
}

TEST_P(semaphore_test, every_token_is_taken_once) {
  every_token_once<haltpoll_governor<>>(1, 1, test::many / 10, 1);
  every_token_once<haltpoll_governor<>>(4, 4, test::many / 100, 1);
  every_token_once<test::always>(4, 2, test::many / 100, 1);
  every_token_once<test::always>(3, 1, test::many / 100, 5);
  every_token_once<test::never_polls>(4, 4, test::many / 100, 1);
}

TEST_P(semaphore_test, no_hand_off_is_lost) {
  semaphore ping(0), pong(0);
  long sum = 0;  // not atomic: the semaphores must order it
  std::thread peer([&] {
    for (int i = 0; i < test::many; ++i) {
      ping.acquire();
      ++sum;
      pong.release();
    }
  });
  for (int i = 0; i < test::many; ++i) {
    ping.release();
    pong.acquire();
    ASSERT_EQ(sum, i + 1);
  }
  peer.join();
}

TEST(semaphore, at_most_one_of_many_waiters_polls) {
  counted<test::always> s(0);
  constexpr int n = 6;
  std::vector<std::thread> pool;
  for (int i = 0; i < n; ++i) pool.emplace_back([&] { s.acquire(); });
  for (int i = 0; i < n; ++i) {
    test::let_others_run();
    s.release();
  }
  for (auto& t : pool) t.join();
  // A wait polls once at most, and sleepers that are woken for a token do not poll again.
  EXPECT_LE(s.stats().polls, u64{n});
  EXPECT_LE(s.stats().wakes, u64{n});
}

}  // namespace
