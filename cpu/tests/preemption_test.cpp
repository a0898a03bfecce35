// The watch tells a CPU of one's own from one that somebody else needs. Every case runs with every
// source this machine has.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <haltpoll/cpu/preemption.hpp>
#include <string>
#include <thread>

namespace {

using haltpoll::cpu::preemption_watch;

long switches() {
  rusage r;
  getrusage(RUSAGE_THREAD, &r);
  return r.ru_nvcsw + r.ru_nivcsw;
}

/// Pins the calling thread to one CPU it may run on, and undoes that.
class pinned {
 public:
  pinned() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &before_)) continue;
      CPU_SET(cpu, &one);
      break;
    }
    sched_setaffinity(0, sizeof one, &one);
  }
  ~pinned() { sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_;
};

/// A thread that never sleeps; it inherits the CPUs of its creator.
class busy_thread {
 public:
  busy_thread()
      : thread_([this] {
          while (!stop_.load(std::memory_order_relaxed)) turns_.fetch_add(1);
        }) {}
  ~busy_thread() {
    stop_ = true;
    thread_.join();
  }
  unsigned long turns() const { return turns_.load(); }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<unsigned long> turns_{0};
  std::thread thread_;
};

class preemption : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!preemption_watch::force_source(GetParam())) {
      GTEST_SKIP() << "this process has no source " << GetParam();
    }
  }
  void TearDown() override { preemption_watch::force_source(nullptr); }
};

// Others share this machine, so a disturbance may be real: the thread's own switch counts, read
// outside of the watch, say whether it was.
TEST_P(preemption, quiet_is_not_disturbed) {
  int quiet = 0;
  for (int i = 0; i < 1000; ++i) {
    const long before = switches();
    preemption_watch watch;
    watch.arm();
    for (int turn = 0; turn < 20; ++turn) asm volatile("" ::: "memory");
    const bool disturbed = watch.disturbed();
    if (switches() != before) continue;
    ++quiet;
    ASSERT_FALSE(disturbed);
  }
  EXPECT_GT(quiet, 0) << "never once had the CPU for itself";
}

TEST_P(preemption, a_yield_that_nobody_took_is_not_disturbed) {
  int quiet = 0;
  for (int i = 0; i < 1000; ++i) {
    const long before = switches();
    preemption_watch watch;
    watch.arm();
    const bool disturbed = watch.give_way();
    if (switches() != before) continue;
    ++quiet;
    ASSERT_FALSE(disturbed);
  }
  EXPECT_GT(quiet, 0) << "never once had the CPU for itself";
}

TEST_P(preemption, a_busy_neighbour_takes_the_yield) {
  pinned here;
  busy_thread neighbour;
  while (neighbour.turns() == 0) sched_yield();
  for (int i = 0; i < 20; ++i) {
    preemption_watch watch;
    watch.arm();
    // The scheduler may let the caller go on for a while; it must not do so forever.
    int yields = 0;
    while (!watch.give_way() && ++yields < 1'000'000) {
    }
    ASSERT_LT(yields, 1'000'000);
  }
}

TEST_P(preemption, being_preempted_without_a_yield_is_noticed) {
  pinned here;
  busy_thread neighbour;
  while (neighbour.turns() == 0) sched_yield();
  preemption_watch watch;
  watch.arm();
  const unsigned long seen = neighbour.turns();
  while (neighbour.turns() == seen) {  // on one CPU it only turns after this thread was preempted
  }
  EXPECT_TRUE(watch.disturbed());
}

TEST_P(preemption, sleeping_is_a_disturbance) {
  preemption_watch watch;
  watch.arm();
  const timespec moment = {0, 100'000};
  nanosleep(&moment, nullptr);
  EXPECT_TRUE(watch.disturbed());
}

TEST_P(preemption, a_disarmed_watch_says_nothing) {
  preemption_watch watch;
  EXPECT_FALSE(watch.disturbed());
  watch.arm();
  watch.disarm();
  const timespec moment = {0, 100'000};
  nanosleep(&moment, nullptr);
  EXPECT_FALSE(watch.disturbed());
}

TEST_P(preemption, can_be_armed_again) {
  preemption_watch watch;
  int quiet = 0;
  for (int i = 0; i < 100; ++i) {
    watch.arm();
    const timespec moment = {0, 100'000};
    nanosleep(&moment, nullptr);
    ASSERT_TRUE(watch.disturbed());
    const long before = switches();
    watch.arm();
    const bool disturbed = watch.disturbed();
    if (switches() == before) {
      ++quiet;
      ASSERT_FALSE(disturbed);
    }
  }
  EXPECT_GT(quiet, 0);
}

TEST_P(preemption, a_signal_is_a_disturbance) {
  if (std::string(GetParam()) != "rseq") GTEST_SKIP() << "switch counts do not count signals";
  struct sigaction action = {}, before;
  // A handler that polls itself: its watch must not hide the signal from the outer one.
  action.sa_handler = [](int) {
    preemption_watch inner;
    inner.arm();
  };
  sigaction(SIGUSR1, &action, &before);
  preemption_watch watch;
  watch.arm();
  raise(SIGUSR1);
  EXPECT_TRUE(watch.disturbed());
  sigaction(SIGUSR1, &before, nullptr);
}

TEST_P(preemption, threads_do_not_disturb_each_other) {
  // The peer arms, is disturbed and disarms all the time; only this thread's own switches count.
  std::atomic<bool> stop{false};
  std::thread peer([&] {
    while (!stop) {
      preemption_watch watch;
      watch.arm();
      watch.give_way();
    }
  });
  int quiet = 0;
  for (int i = 0; i < 10'000; ++i) {
    const long before = switches();
    preemption_watch watch;
    watch.arm();
    const bool disturbed = watch.disturbed();
    if (switches() != before) continue;
    ++quiet;
    EXPECT_FALSE(disturbed);
  }
  stop = true;
  peer.join();
  EXPECT_GT(quiet, 0);
}

INSTANTIATE_TEST_SUITE_P(sources, preemption, testing::Values("rseq", "rusage"),
                         [](const auto& source) { return std::string(source.param); });

TEST(preemption_source, is_one_of_the_two_and_forcing_another_is_refused) {
  EXPECT_FALSE(preemption_watch::force_source("tea leaves"));
  const std::string source = preemption_watch::source();
  EXPECT_EQ(source, preemption_watch::supported() ? "rseq" : "rusage");
}

TEST(preemption_source, finding_it_out_keeps_errno) {
  errno = 4711;
  preemption_watch watch;
  watch.arm();
  watch.disturbed();
  EXPECT_EQ(errno, 4711);
}

}  // namespace
