#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <haltpoll/cpu/clock.hpp>
#include <thread>
#include <vector>

#include "counter.hpp"
#include "counter_trust.hpp"
#include "interpolated_clock.hpp"

namespace {

using namespace haltpoll::cpu;

u64 monotonic_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<u64>(t.tv_sec) * 1'000'000'000 + static_cast<u64>(t.tv_nsec);
}

// Before any constructor of the C++ library or of a test.
u64 read_before_constructors = 0;
[[gnu::constructor(101)]] void early() { read_before_constructors = now_ns(); }

TEST(clock, works_before_constructors) {
  EXPECT_NE(read_before_constructors, 0u);
  EXPECT_LE(read_before_constructors, monotonic_ns());
}

struct clock_sources : testing::TestWithParam<const char*> {
  void SetUp() override {
    if (!force_clock(GetParam()))
      GTEST_SKIP() << GetParam() << " is not trusted here: " << clock_objection();
  }
  void TearDown() override { EXPECT_TRUE(force_clock(nullptr)); }
};

TEST_P(clock_sources, is_the_source) {
  EXPECT_STREQ(clock_source(), GetParam());
  EXPECT_FALSE(force_clock("sundial"));
  EXPECT_STREQ(clock_source(), GetParam());
}

TEST_P(clock_sources, agrees_with_clock_monotonic) {
  u64 last = 0;
  for (int i = 0; i < 300'000; ++i) {
    const u64 before = monotonic_ns();
    const u64 now = now_ns();
    const u64 after = monotonic_ns();
    ASSERT_GE(now, last);
    ASSERT_GE(now + 1'000, before);
    ASSERT_LE(now, after + 1'000);
    last = now;
  }
  EXPECT_EQ(counter_ticks_per_ms() > 0, std::strcmp(GetParam(), "vdso") != 0);
}

TEST_P(clock_sources, goes_on_in_a_forked_child) {
  u64 last = now_ns();
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 100'000; ++i) {
      const u64 now = now_ns();
      if (now < last) _exit(1);
      last = now;
    }
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

INSTANTIATE_TEST_SUITE_P(, clock_sources, testing::Values("vdso", counter_name),
                         [](const auto& i) { return std::string(i.param); });

// The counter itself, also where it is not trusted (under emulation): the same arithmetic on the
// real instruction.
TEST(clock, counter_is_interpolated_whether_trusted_or_not) {
  if (!counter_is_invariant())
    GTEST_SKIP() << "the CPU does not promise a counter of constant rate";
  struct {
    u64 counter() { return read_counter(); }
    u64 monotonic_ns() {
      ++monotonic_reads;
      return ::monotonic_ns();
    }
    unsigned monotonic_reads = 0;
  } machine;
  interpolated_clock clock;
  std::atomic<u64> ticks_per_span{0};
  u64 last = 0;
  unsigned readings = 0;
  for (const u64 until = monotonic_ns() + 100 * span_ns; last < until; ++readings) {
    const u64 now = clock.now(machine, ticks_per_span);
    ASSERT_GE(now, last);
    last = now;
  }
  EXPECT_GT(ticks_per_span, 0u);
  EXPECT_LT(machine.monotonic_reads, readings);
}

TEST(clock, never_steps_back_while_sources_are_switched) {
  std::atomic<bool> stop{false};
  std::atomic<u64> backward{0}, readings{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      u64 last = 0, n = 0;
      while (!stop) {
        const u64 now = now_ns();
        if (now < last) ++backward;
        last = now;
        ++n;
      }
      readings += n;
    });
  }
  const char* const sources[] = {"vdso", counter_name, nullptr};
  for (int i = 0; i < 3'000; ++i) force_clock(sources[i % 3]);
  stop = true;
  for (std::thread& t : readers) t.join();
  EXPECT_TRUE(force_clock(nullptr));
  EXPECT_EQ(backward, 0u);
  EXPECT_GT(readings, 0u);
}

std::atomic<u64> handled{0}, handler_saw_backward{0}, last_in_handler{0};

void read_in_handler(int) {
  const u64 now = now_ns();
  if (now < last_in_handler) ++handler_saw_backward;
  last_in_handler = now;
  ++handled;
}

TEST(clock, may_be_read_in_a_signal_handler) {
  force_clock(counter_name);  // where it is refused, the other source is tested
  struct sigaction action {
  }, before{};
  action.sa_handler = read_in_handler;
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGUSR1;
  timer_t timer;
  ASSERT_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
  const itimerspec every_20_us{{0, 20'000}, {0, 20'000}};
  ASSERT_EQ(timer_settime(timer, 0, &every_20_us, nullptr), 0);
  u64 backward = 0;
  for (u64 readings = 0; handled < 5'000 && readings < 500'000'000; ++readings) {
    const u64 from_handler = last_in_handler;
    if (now_ns() < from_handler) ++backward;
  }
  timer_delete(timer);
  sigaction(SIGUSR1, &before, nullptr);
  EXPECT_TRUE(force_clock(nullptr));
  EXPECT_GE(handled, 5'000u);
  EXPECT_EQ(handler_saw_backward, 0u);
  EXPECT_EQ(backward, 0u);
}

// Every openat from now on kills the process.
bool forbid_open() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{4, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(clock, a_thread_that_reads_little_opens_no_file) {
  const auto status_after = [](int readings) {
    const pid_t child = fork();
    if (child == 0) {
      force_clock(nullptr);
      if (!forbid_open()) _exit(77);
      // pthread_create rather than std::thread: nothing that could open a file for other reasons.
      pthread_t thread;
      pthread_create(
          &thread, nullptr,
          [](void* n) -> void* {
            for (long i = 0; i < reinterpret_cast<long>(n); ++i) now_ns();
            return nullptr;
          },
          reinterpret_cast<void*>(static_cast<long>(readings)));
      pthread_join(thread, nullptr);
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
  };
  const int little = status_after(3'000);
  if (WIFEXITED(little) && WEXITSTATUS(little) == 77)
    GTEST_SKIP() << "no seccomp filters here (user-mode emulation?)";
  EXPECT_EQ(little, 0);
  const int much = status_after(3'001);
  EXPECT_TRUE(WIFSIGNALED(much) && WTERMSIG(much) == SIGSYS) << much;
}

}  // namespace
