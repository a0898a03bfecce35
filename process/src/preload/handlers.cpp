#include "handlers.hpp"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "real.hpp"

namespace haltpoll::preload {

constinit std::atomic<uint64_t> handlers::any_{0};
constinit std::atomic<uint64_t> handlers::not_restarting_{0};

namespace {

constexpr uint64_t bit(int sig) { return 1ULL << (sig - 1); }

/// Handlers of these run for what the interrupted instruction did, and our poll loop does none of
/// it. Crash handlers are common and must not make a program look as if it wanted to be
/// interrupted.
constexpr uint64_t faults = bit(SIGSEGV) | bit(SIGBUS) | bit(SIGFPE) | bit(SIGILL) | bit(SIGTRAP) |
                            bit(SIGSYS) | bit(SIGABRT);

bool observed(int sig) { return sig >= 1 && sig <= 64 && (bit(sig) & faults) == 0; }

void change(std::atomic<uint64_t>& set, uint64_t b, bool on) {
  if (on)
    set.fetch_or(b, std::memory_order_relaxed);
  else
    set.fetch_and(~b, std::memory_order_relaxed);
}

/// struct sigaction as the kernel has it.
struct kernel_sigaction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)();
  uint64_t mask;
};

}  // namespace

bool handlers::may_run(uint64_t set) {
  if (set == 0) return false;
  uint64_t blocked = 0;
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &blocked, sizeof blocked);
  return (set & ~blocked) != 0;
}

void handlers::expect(int sig) {
  if (!observed(sig)) return;
  change(any_, bit(sig), true);
  change(not_restarting_, bit(sig), true);
}

void handlers::observe(int sig) {
  if (!observed(sig)) return;
  const int saved = errno;
  kernel_sigaction now{};
  if (syscall(SYS_rt_sigaction, sig, nullptr, &now, sizeof now.mask) == 0) {
    const bool handled = now.handler != SIG_DFL && now.handler != SIG_IGN;
    change(any_, bit(sig), handled);
    change(not_restarting_, bit(sig), handled && (now.flags & SA_RESTART) == 0);
  }
  errno = saved;
}

namespace {
/// Runs `install` with the bookkeeping around it.
template <class Install>
auto watched(int sig, bool installs, Install install) {
  resolve_if_needed();
  if (!installs) return install();
  handlers::expect(sig);
  const auto result = install();
  handlers::observe(sig);
  return result;
}
}  // namespace

HALTPOLL_EXPORT int sigaction(int sig, const struct sigaction* act,
                              struct sigaction* old) noexcept {
  return watched(sig, act != nullptr, [&] { return real.sigaction(sig, act, old); });
}
HALTPOLL_EXPORT int siginterrupt(int sig, int interrupt) noexcept {
  return watched(sig, true, [&] { return real.siginterrupt(sig, interrupt); });
}

#define HALTPOLL_SIGNAL_LIKE(name)                                            \
  HALTPOLL_EXPORT sighandler_t name(int sig, sighandler_t handler) noexcept { \
    return watched(sig, true, [&] { return real.name(sig, handler); });       \
  }
HALTPOLL_SIGNAL_LIKE(signal)
HALTPOLL_SIGNAL_LIKE(bsd_signal)
HALTPOLL_SIGNAL_LIKE(ssignal)
HALTPOLL_SIGNAL_LIKE(sysv_signal)
HALTPOLL_SIGNAL_LIKE(__sysv_signal)
HALTPOLL_SIGNAL_LIKE(sigset)

}  // namespace haltpoll::preload
