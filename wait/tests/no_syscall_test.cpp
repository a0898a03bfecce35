// A notify makes no system call while the waiter polls: asked of the kernel, not of ourselves.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <haltpoll/wait/wait.hpp>

#include "back_ends.hpp"

namespace {

using namespace haltpoll::wait;
using namespace std::chrono_literals;

std::atomic<u64> trapped{0};

/// From now on every futex call of this thread is counted in `trapped` instead of made.
bool trap_futex() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {4, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// Polls on even where somebody else needs the CPU, so that there is something to see on a busy
/// machine, too.
struct stubborn : linux_machine {
  struct watch {
    void arm() {}
    bool disturbed() const { return false; }
    bool give_way() {
      std::this_thread::yield();
      return false;
    }
    void disarm() {}
  };
};

/// Waits for the waiter to poll, but not for long: on a busy machine it may have stopped polling.
template <class Condition>
void await(const Condition& c) {
  const auto until = std::chrono::steady_clock::now() + 2ms;
  while (!c() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
}

struct primitive {
  std::function<void()> notify;
  std::function<bool()> wait;    ///< for a moment; whether it was notified
  std::function<bool()> polled;  ///< whether the waiter polls
  const counting_stats& stats;
};

class no_syscall : public test::back_end {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "ThreadSanitizer makes futex calls of its own";
#endif
    test::back_end::SetUp();
    struct sigaction action = {};
    action.sa_handler = [](int) { trapped.fetch_add(1); };
    sigaction(SIGSYS, &action, nullptr);
  }
  void TearDown() override {
    signal(SIGSYS, SIG_DFL);
    test::back_end::TearDown();
  }

  static void notify_pollers(const primitive& p) {
    constexpr u64 rounds = 100;
    trapped = 0;
    std::atomic<u64> done{0};
    std::atomic<bool> refused{false};
    std::thread waiter([&] {
      while (done < rounds && !refused) {
        // Not for ever: a wake that was needed is trapped, too.
        if (p.wait()) ++done;
      }
    });
    std::thread notifier([&] {
      if (!trap_futex()) {
        refused = true;
        return;
      }
      for (u64 i = 0; i < rounds; ++i) {
        await([&] { return p.polled() || done != i; });
        p.notify();
        while (done == i) std::this_thread::yield();
      }
    });
    notifier.join();
    waiter.join();
    if (refused) GTEST_SKIP() << "no seccomp filters here";
    EXPECT_EQ(done, rounds);
    EXPECT_GT(p.stats.hits + p.stats.looks, 0u) << "the waiter never polled";
    EXPECT_EQ(trapped, p.stats.wakes) << "a futex call that the counters do not know";
    EXPECT_LE(trapped, p.stats.blocks) << "a wake for a waiter that did not sleep";
  }
};
HALTPOLL_FOR_ALL_BACK_ENDS(no_syscall);

TEST_P(no_syscall, event) {
  basic_event<reset::automatic, test::always, counting_stats, stubborn> e;
  notify_pollers(
      {[&] { e.set(); }, [&] { return e.wait_for(5ms); }, [&] { return e.polled(); }, e.stats()});
}

TEST_P(no_syscall, semaphore) {
  basic_semaphore<test::always, counting_stats, stubborn> s(0);
  notify_pollers({[&] { s.release(); }, [&] { return s.try_acquire_for(5ms); },
                  [&] { return s.polled(); }, s.stats()});
}

TEST_P(no_syscall, waiter) {
  basic_waiter<test::always, counting_stats, stubborn> w;
  std::atomic<int> tokens{0};
  const auto pop = [&] {
    int n = 1;
    return tokens.compare_exchange_strong(n, 0);
  };
  notify_pollers({[&] {
                    tokens = 1;
                    w.notify_one();
                  },
                  [&] {
                    const auto key = w.prepare();
                    if (pop()) return true;
                    w.wait_for(key, 5ms);
                    return pop();
                  },
                  [&] { return w.polled(); }, w.stats()});
}

TEST_P(no_syscall, wait_on) {
  using waits = basic_atomic_waits<test::always, counting_stats, stubborn>;
  std::atomic<u32> a{0};
  u32 seen = 0;
  // The row is shared by all back-ends' runs: count from here.
  const u64 wakes = waits::stats(&a).wakes;
  const u64 blocks = waits::stats(&a).blocks;
  std::atomic<u64> done{0};
  std::atomic<bool> refused{false};
  trapped = 0;
  constexpr u64 rounds = 100;
  std::thread waiter([&] {
    while (done < rounds && !refused) {
      const u64 until = haltpoll::cpu::now_ns() + 5'000'000;
      if (waits::wait(a, seen, std::memory_order_acquire, until)) {
        ++seen;
        ++done;
      }
    }
  });
  std::thread notifier([&] {
    if (!trap_futex()) {
      refused = true;
      return;
    }
    for (u64 i = 0; i < rounds; ++i) {
      await([&] { return waits::polled(&a) || done != i; });
      ++a;
      waits::notify(&a);
      while (done == i) std::this_thread::yield();
    }
  });
  notifier.join();
  waiter.join();
  if (refused) GTEST_SKIP() << "no seccomp filters here";
  EXPECT_EQ(trapped, waits::stats(&a).wakes - wakes);
  EXPECT_LE(trapped, waits::stats(&a).blocks - blocks);
}

// The same seen from outside, on a program of its own: it makes no more futex calls than its waits
// slept and its notifies woke, plus those of starting and ending a thread.
TEST(no_syscall_from_outside, strace) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizers make futex calls of their own";
#endif
  char dir[] = "/tmp/haltpoll-strace-XXXXXX";
  ASSERT_NE(mkdtemp(dir), nullptr);
  const std::string trace = std::string(dir) + "/trace", out = std::string(dir) + "/out";
  // Only futex calls stop the program: a stop at every yield would look like contention.
  const std::string command = "strace -f --seccomp-bpf -e trace=futex -e signal=none -o " + trace +
                              " " HALTPOLL_HAND_OFFS " > " + out + " 2>&1";
  const int status = std::system(command.c_str());
  u64 hand_offs = 0, expected = 0, calls = 0;
  std::ifstream(out) >> hand_offs >> expected;
  std::ifstream lines(trace);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("futex(") != std::string::npos) ++calls;
  }
  std::error_code ignored;
  ::unlink(trace.c_str());
  ::unlink(out.c_str());
  ::rmdir(dir);
  if (status != 0) GTEST_SKIP() << "no strace here, or it may not trace";
  EXPECT_EQ(hand_offs, 40'000u);
  // Being traced interrupts a sleep now and then, which is then begun anew.
  EXPECT_LE(calls, expected + expected / 20 + 16);
}

}  // namespace
