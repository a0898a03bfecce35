#pragma once
// handlers: which signals this process handles, as far as that can interrupt a blocking call.
//
// A blocking call ends with EINTR when a handler ran. While we poll, handlers run as well but end
// nothing, and the block that follows would sleep through what the program wanted to notice. So the
// poll loop asks here whether a disturbance may have been a handler. We observe: the functions that
// install handlers are passed through and the kernel is asked afterwards what is in force now (and
// before, so that there is no moment at which a handler is unknown). No handler of ours is ever
// installed. Handlers installed by a raw system call are not seen.
#include <signal.h>
#include <stdint.h>

#include <atomic>

namespace haltpoll::preload {

class handlers {
 public:
  /// Bit (sig - 1): the signal has a handler / a handler without SA_RESTART.
  static uint64_t any() { return any_.load(std::memory_order_relaxed); }
  static uint64_t not_restarting() { return not_restarting_.load(std::memory_order_relaxed); }

  /// Whether a handler out of `set` could have run in this thread just now, by its signal mask. One
  /// system call.
  static bool may_run(uint64_t set);

  /// A handler for `sig` is about to be installed: from now on it may run.
  static void expect(int sig);
  /// Reads back what is in force.
  static void observe(int sig);

 private:
  static std::atomic<uint64_t> any_;
  static std::atomic<uint64_t> not_restarting_;
};

}  // namespace haltpoll::preload
