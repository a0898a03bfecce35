#pragma once
// handlers: which signals this process handles, as far as that can interrupt a blocking call.
//
// A blocking call ends with EINTR when a handler ran. While we poll nothing would be ended, and the
// block that follows would sleep through what the program wanted to notice. So signals whose
// handler would end the call are held back for the time of the poll (`held_signals`, the way ppoll
// holds them back), looked for, and on release they run their handler and the call answers EINTR:
// EINTR never without a handler. (What a poll does not cover: poll_loop.hpp.) Held back is at most
// one window, usually 4 us. POSIX leaves open which thread handles a signal sent to the process; a
// thread that polls is passed over while another one does not block the signal.
//
// Which signals those are we observe: the functions that install handlers are passed through, and
// what is in force afterwards is noted. Notes are never taken back: a vfork child resets handlers
// in its own process but in our memory. A note too many costs a poll two system calls; when a
// signal arrives, the kernel is asked for its handler. No handler of ours is ever installed.
// Handlers installed by a raw system call are not seen.
#include <signal.h>
#include <stdint.h>

namespace haltpoll::preload {

/// Which handlers end a call. Poll, select and epoll: all; the others: those without SA_RESTART,
/// and all if a receive timeout is set (signal(7)).
enum class ended_by : bool { not_restarting_handlers, any_handler };

/// Holds signals back from construction to release().
class held_signals {
 public:
  /// No system call here or later where no handler can end the call. `call_mask`: the signal mask
  /// the call brings along for its duration, or null.
  held_signals(ended_by e, const sigset_t* call_mask);

  /// Whether one of them has arrived that the call would let through.
  bool arrived() const { return (pending() & ~call_mask_) != 0; }

  /// Whether release() will run a handler that ends the call. Not if the thread's own mask holds
  /// the signal and only the call's mask would let it through; the real call has to do that.
  bool will_end_call() const;

  /// Lets them through. Keeps the handlers' errno away.
  void release();

 private:
  uint64_t pending() const;

  ended_by ended_by_;
  uint64_t ending_;  ///< signals that may have such a handler
  uint64_t thread_mask_ = 0;
  uint64_t call_mask_ = 0;
};

}  // namespace haltpoll::preload
