#include "handlers.hpp"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "real.hpp"

namespace haltpoll::preload {

namespace {

constexpr uint64_t bit(int sig) { return 1ULL << (sig - 1); }

/// Handlers of these run for what the interrupted instruction did, and our poll loop does none of
/// it. Crash handlers are common and must not make a program look as if it wanted to be
/// interrupted.
constexpr uint64_t faults = bit(SIGSEGV) | bit(SIGBUS) | bit(SIGFPE) | bit(SIGILL) | bit(SIGTRAP) |
                            bit(SIGSYS) | bit(SIGABRT);

/// Bit (sig - 1): the signal has had a handler / a handler without SA_RESTART.
constinit std::atomic<uint64_t> any{0};
constinit std::atomic<uint64_t> not_restarting{0};

/// struct sigaction as the kernel has it.
struct kernel_sigaction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)();
  uint64_t mask;
};

struct disposition {
  bool handled;
  bool restarts;
};
disposition disposition_of(int sig) {
  kernel_sigaction now{};
  if (syscall(SYS_rt_sigaction, sig, nullptr, &now, sizeof now.mask) != 0) return {};
  return {now.handler != SIG_DFL && now.handler != SIG_IGN, (now.flags & SA_RESTART) != 0};
}

void note(int sig) {
  if (sig < 1 || sig > 64 || (bit(sig) & faults) != 0) return;
  const int saved = errno;
  const disposition d = disposition_of(sig);
  if (d.handled) any.fetch_or(bit(sig), std::memory_order_relaxed);
  if (d.handled && !d.restarts) not_restarting.fetch_or(bit(sig), std::memory_order_relaxed);
  errno = saved;
}

}  // namespace

held_signals::held_signals(ended_by e, const sigset_t* call_mask)
    : ended_by_(e),
      ending_((e == ended_by::any_handler ? any : not_restarting).load(std::memory_order_relaxed)) {
  if (ending_ == 0) return;
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, &ending_, &thread_mask_, sizeof thread_mask_);
  call_mask_ = thread_mask_;
  // The kernel's set is the first word of libc's.
  if (call_mask != nullptr) memcpy(&call_mask_, call_mask, sizeof call_mask_);
}

bool held_signals::will_end_call() const {
  for (uint64_t set = pending() & ~call_mask_ & ~thread_mask_; set != 0; set &= set - 1) {
    const disposition d = disposition_of(__builtin_ctzll(set) + 1);
    if (d.handled && (ended_by_ == ended_by::any_handler || !d.restarts)) return true;
  }
  return false;
}

uint64_t held_signals::pending() const {
  uint64_t set = 0;
  if (ending_ != 0) syscall(SYS_rt_sigpending, &set, sizeof set);
  return set & ending_;
}

void held_signals::release() {
  if (ending_ == 0) return;
  const int saved = errno;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &thread_mask_, nullptr, sizeof thread_mask_);
  errno = saved;
}

namespace {
/// Runs `install` and notes what is in force then.
template <class Install>
auto noted(int sig, Install install) {
  resolve_if_needed();
  const auto result = install();
  note(sig);
  return result;
}
}  // namespace

HALTPOLL_EXPORT int sigaction(int sig, const struct sigaction* act,
                              struct sigaction* old) noexcept {
  return noted(sig, [&] { return real.sigaction(sig, act, old); });
}
HALTPOLL_EXPORT int siginterrupt(int sig, int interrupt) noexcept {
  return noted(sig, [&] { return real.siginterrupt(sig, interrupt); });
}

#define HALTPOLL_SIGNAL_LIKE(name)                                            \
  HALTPOLL_EXPORT sighandler_t name(int sig, sighandler_t handler) noexcept { \
    return noted(sig, [&] { return real.name(sig, handler); });               \
  }
HALTPOLL_SIGNAL_LIKE(signal)
HALTPOLL_SIGNAL_LIKE(bsd_signal)
HALTPOLL_SIGNAL_LIKE(ssignal)
HALTPOLL_SIGNAL_LIKE(sysv_signal)
HALTPOLL_SIGNAL_LIKE(__sysv_signal)
HALTPOLL_SIGNAL_LIKE(sigset)

}  // namespace haltpoll::preload
