#pragma once
// handlers: which signals this process handles, as far as that can interrupt a blocking call.
//
// A blocking call ends with EINTR when a handler ran. While we poll nothing would be ended, and the
// block that follows would sleep through what the program wanted to notice. So signals whose
// handler would end the call are held back for the time of the poll (`held_signals`, the way ppoll
// holds them back), looked for, and on release they run their handler and the call answers EINTR:
// never lost, never EINTR without one. Held back is at most one window, usually 4 us. POSIX leaves
// open which thread handles a signal sent to the process; a thread that polls is passed over while
// another one does not block the signal.
//
// Which signals those are we observe: the functions that install handlers are passed through and
// the kernel is asked afterwards what is in force (before it, the worst is assumed, so that there
// is no moment at which a handler is unknown). No handler of ours is ever installed. Handlers
// installed by a raw system call are not seen.
#include <signal.h>
#include <stdint.h>

#include <atomic>

namespace haltpoll::preload {

class handlers {
 public:
  /// Bit (sig - 1): the signal has a handler / a handler without SA_RESTART.
  static uint64_t any() { return any_.load(std::memory_order_relaxed); }
  static uint64_t not_restarting() { return not_restarting_.load(std::memory_order_relaxed); }

  /// A handler for `sig` is about to be installed: from now on it may run.
  static void expect(int sig);
  /// Reads back what is in force.
  static void observe(int sig);

 private:
  static std::atomic<uint64_t> any_;
  static std::atomic<uint64_t> not_restarting_;
};

/// Holds signals back from construction to release().
class held_signals {
 public:
  /// `ending`: the signals whose handlers end the call; none: no system call here or later.
  /// `call_mask`: the signal mask the call brings along for its duration, or null.
  held_signals(uint64_t ending, const sigset_t* call_mask);

  /// Whether one of them has arrived that the call would let through.
  bool arrived() const { return (pending() & ~call_mask_) != 0; }

  /// The same for those whose handler runs on release(): not if the thread's own mask holds the
  /// signal and only the call's mask would let it through; the real call has to do that.
  bool arrived_here() const { return (pending() & ~call_mask_ & ~thread_mask_) != 0; }

  /// Lets them through. Keeps the handlers' errno away.
  void release();

 private:
  uint64_t pending() const;

  uint64_t ending_;
  uint64_t thread_mask_ = 0;
  uint64_t call_mask_ = 0;
};

}  // namespace haltpoll::preload
