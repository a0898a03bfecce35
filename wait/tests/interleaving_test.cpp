// No order of the steps of waiters and notifiers loses a wake, on the real code (model.hpp).
#include <haltpoll/wait/wait.hpp>

#include "model.hpp"

namespace {

using namespace haltpoll::wait;
using model::explore;
using model::run;

template <u64 WindowNs>
using fixed = fixed_governor<haltpoll::core::fixed::params{WindowNs}>;

/// Windows of the model, whose clock advances by 1 us per reading: none; so short that the poll
/// ends within a few looks; long enough for a yield, at which somebody may take the CPU.
template <class Governor>
class interleaving : public testing::Test {
 protected:
  using event = basic_event<reset::automatic, Governor, no_stats, model::machine>;
  using manual_event = basic_event<reset::manual, Governor, no_stats, model::machine>;
  using semaphore = basic_semaphore<Governor, no_stats, model::machine>;
  using waiter = basic_waiter<Governor, no_stats, model::machine>;
  using atomic_waits = basic_atomic_waits<Governor, no_stats, model::machine>;

  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "ThreadSanitizer does not follow swapcontext, and there is one thread only";
#endif
  }
};

using windows = testing::Types<fixed<0>, fixed<2'000>, fixed<5'000>>;
TYPED_TEST_SUITE(interleaving, windows);

constexpr auto nothing_wrong = [](run&) { return std::string(); };
constexpr auto in_the_future = std::chrono::steady_clock::time_point(std::chrono::seconds(1));

TYPED_TEST(interleaving, event_one_waiter) {
  const u64 runs = explore([](run& r) {
    auto e = std::make_shared<typename TestFixture::event>();
    r.add([e] { e->wait(); });
    r.add([e] { e->set(); });
    return nothing_wrong;
  });
  EXPECT_GT(runs, 10u);
}

TYPED_TEST(interleaving, event_waits_again) {
  explore(
      [](run& r) {
        auto ping = std::make_shared<typename TestFixture::event>();
        auto pong = std::make_shared<typename TestFixture::event>();
        r.add([=] {
          for (int i = 0; i < 2; ++i) {
            ping->set();
            pong->wait();
          }
        });
        r.add([=] {
          for (int i = 0; i < 2; ++i) {
            ping->wait();
            pong->set();
          }
        });
        return nothing_wrong;
      },
      2);
}

TYPED_TEST(interleaving, event_handed_on_from_waiter_to_waiter) {
  explore(
      [](run& r) {
        auto e = std::make_shared<typename TestFixture::event>();
        for (int i = 0; i < 2; ++i) {
          r.add([e] {
            e->wait();
            e->set();
          });
        }
        r.add([e] { e->set(); });
        return nothing_wrong;
      },
      2);
}

TYPED_TEST(interleaving, event_timed_wait_takes_the_event_or_leaves_it) {
  explore([](run& r) {
    auto e = std::make_shared<typename TestFixture::event>();
    auto got = std::make_shared<bool>(false);
    r.add([=] { *got = e->wait_until(in_the_future); });
    r.add([e] { e->set(); });
    return [=](run&) -> std::string {
      return *got == e->try_wait() ? "the event was lost or taken twice" : "";
    };
  });
}

TYPED_TEST(interleaving, manual_event_lets_all_through) {
  explore(
      [](run& r) {
        auto e = std::make_shared<typename TestFixture::manual_event>();
        r.add([e] { e->wait(); });
        r.add([e] { e->wait(); });
        r.add([e] { e->set(); });
        return nothing_wrong;
      },
      2);
}

TYPED_TEST(interleaving, semaphore_two_releases_for_two_waiters) {
  explore(
      [](run& r) {
        auto s = std::make_shared<typename TestFixture::semaphore>(0);
        r.add([s] { s->acquire(); });
        r.add([s] { s->acquire(); });
        r.add([s] {
          s->release();
          s->release();
        });
        return [s](run&) -> std::string { return s->try_acquire() ? "a token too many" : ""; };
      },
      2);
}

TYPED_TEST(interleaving, semaphore_release_of_two) {
  explore(
      [](run& r) {
        auto s = std::make_shared<typename TestFixture::semaphore>(0);
        r.add([s] { s->acquire(); });
        r.add([s] { s->acquire(); });
        r.add([s] { s->release(2); });
        return nothing_wrong;
      },
      2);
}

TYPED_TEST(interleaving, semaphore_with_a_barging_thread) {
  explore(
      [](run& r) {
        auto s = std::make_shared<typename TestFixture::semaphore>(0);
        r.add([s] { s->acquire(); });
        r.add([s] { s->acquire(); });
        r.add([s] {
          if (s->try_acquire()) s->release();
        });
        r.add([s] {
          s->release();
          s->release();
        });
        return nothing_wrong;
      },
      1);
}

TYPED_TEST(interleaving, semaphore_token_survives_a_waiter_that_gives_up) {
  explore(
      [](run& r) {
        auto s = std::make_shared<typename TestFixture::semaphore>(0);
        r.add([s] {
          if (s->try_acquire_until(in_the_future)) s->release();
        });
        r.add([s] { s->acquire(); });
        r.add([s] { s->release(); });
        return nothing_wrong;
      },
      2);
}

/// Consumers take one item each from a counter, producers add one and notify.
template <class Waiter>
struct items {
  Waiter waiter;
  model::atomic<int> count{0};

  bool pop() {
    int n = count.load();
    while (n > 0) {
      if (count.compare_exchange_strong(n, n - 1)) return true;
    }
    return false;
  }
  void consume() {
    for (;;) {
      if (pop()) return;
      const auto key = waiter.prepare();
      if (pop()) return;
      waiter.wait(key);
    }
  }
};

TYPED_TEST(interleaving, waiter_one_consumer) {
  explore([](run& r) {
    auto q = std::make_shared<items<typename TestFixture::waiter>>();
    r.add([q] { q->consume(); });
    r.add([q] {
      q->count.fetch_add(1);
      q->waiter.notify_one();
    });
    return nothing_wrong;
  });
}

TYPED_TEST(interleaving, waiter_each_notify_ends_a_wait_of_its_own) {
  // Both waits have begun; one may poll while the other sleeps, and the notifies may come at once.
  explore(
      [](run& r) {
        auto w = std::make_shared<typename TestFixture::waiter>();
        const auto key = w->prepare();
        for (int i = 0; i < 2; ++i) r.add([=] { w->wait(key); });
        for (int i = 0; i < 2; ++i) r.add([w] { w->notify_one(); });
        return nothing_wrong;
      },
      2);
}

TYPED_TEST(interleaving, waiter_two_consumers_two_producers) {
  explore(
      [](run& r) {
        auto q = std::make_shared<items<typename TestFixture::waiter>>();
        for (int i = 0; i < 2; ++i) r.add([q] { q->consume(); });
        for (int i = 0; i < 2; ++i) {
          r.add([q] {
            q->count.fetch_add(1);
            q->waiter.notify_one();
          });
        }
        return nothing_wrong;
      },
      1);
}

TYPED_TEST(interleaving, waiter_notify_all) {
  explore(
      [](run& r) {
        auto q = std::make_shared<items<typename TestFixture::waiter>>();
        for (int i = 0; i < 2; ++i) r.add([q] { q->consume(); });
        r.add([q] {
          q->count.fetch_add(2);
          q->waiter.notify_all();
        });
        return nothing_wrong;
      },
      2);
}

TYPED_TEST(interleaving, wait_on_two_waiters) {
  using waits = typename TestFixture::atomic_waits;
  // The rows outlive a run, and their hint of how often to look changes with the first wait: one
  // wait to settle it, as every run has to start from the same state.
  static model::atomic<int> a(0);
  const auto scenario = [](int waiters) {
    return [waiters](run& r) {
      a = 0;
      for (int i = 0; i < waiters; ++i) {
        r.add([] { waits::wait(a, 0, std::memory_order_acquire, haltpoll::core::never); });
      }
      r.add([] {
        a.store(1);
        waits::notify(&a);
      });
      return nothing_wrong;
    };
  };
  std::vector<u32> choices, widths;
  run settle(choices, widths, 0);
  scenario(1)(settle);
  ASSERT_TRUE(settle.go());
  explore(scenario(1), 4);
  explore(scenario(2), 2);
}

// On the model's clock: 1 us per reading, so a whole window would be 1000 readings.
TEST(deadline, ends_a_poll_inside_its_window) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not follow swapcontext";
#endif
  basic_event<reset::automatic, fixed<1'000'000>, no_stats, model::machine> e;
  std::vector<u32> choices, widths;
  run r(choices, widths, 0);
  const u64 deadline = r.now() + 10'000;
  bool got = true;
  u64 after = 0;
  r.add([&] {
    got = e.wait_until(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline)));
    after = r.now();
  });
  EXPECT_TRUE(r.go());
  EXPECT_FALSE(got);
  EXPECT_GE(after, deadline);
  EXPECT_LT(after, deadline + 5'000);
  EXPECT_EQ(r.sleeps, 0) << "the time was over, and yet it slept";
}

// The model itself: it must find what it is there to find.
TEST(model, finds_a_lost_wake) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not follow swapcontext";
#endif
  // A notifier that looks for sleepers before it sets the value.
  bool found = false;
  std::vector<u32> choices, widths;
  do {
    run r(choices, widths, 1'000'000);
    model::atomic<u64> word(0), sleepers(0);
    r.add([&] {
      sleepers.fetch_add(1);
      if (word.load() == 0) model::machine::futex_wait(word, 0, model::never);
    });
    r.add([&] {
      const bool wake = sleepers.load() != 0;
      word.store(1ULL << 32);
      if (wake) model::machine::futex_wake(word, 1);
    });
    found = !r.go() || found;
    while (!choices.empty() && choices.back() + 1 >= widths.back()) {
      choices.pop_back();
      widths.pop_back();
    }
    if (!choices.empty()) ++choices.back();
  } while (!choices.empty());
  EXPECT_TRUE(found);
}

}  // namespace
