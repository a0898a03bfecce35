#pragma once
// poll_loop: what every wrapped call does: ask the governor, poll with the call's own non-blocking
// form, block.
//
// A blocking call is one idle period of its thread. The governor is asked once (select) and told
// once (reflect): a hit, or a block with its time, without the poll before it. A poll ends with
//   hit           the attempt did what the call is for;
//   miss          the window, or the caller's timeout, ran out: the real call follows;
//   contended     somebody else needs this CPU: the real call follows, and the next calls do not
//   poll. How many doubles
//                 each time up to `longest_backoff` and halves with every clean hit, so that a load
//                 which shares its CPU pays for one poll of a few us in 256 calls;
//   interrupted   a handler that would have ended the real call may have run: EINTR.
// The last two are told apart as far as they can be. The watch (cpu/preemption.hpp) reports that
// this thread was switched out or a handler ran, not which; the number of context switches would
// not tell either, because a signal may have come while we were switched out. To lose a signal is
// wrong, and EINTR without a signal is something a program that installs handlers has to expect (a
// stop and SIGCONT do it to these calls as well, signal(7)). So: EINTR exactly if this thread has,
// unblocked, a handler which ends this kind of call (fault handlers do not count); else it was
// contention. Either way the next calls do not poll, so EINTR for nothing stays rare. A handler
// that runs between the last look and the real call could as well have run before the call. Where
// the watch cannot see handlers (no rseq, Linux from 6.19 on), a process that has such handlers
// does not poll at all.
//
// Cancellation: attempts and blocks go through libc functions that are cancellation points. No lock
// is held and nothing has to be undone if the thread is unwound here; the watch left behind points
// to a constant of this library.
#include <errno.h>
#include <sched.h>

#include <haltpoll/core/governor.hpp>
#include <haltpoll/cpu/clock.hpp>
#include <haltpoll/cpu/preemption.hpp>

#include "handlers.hpp"
#include "settings.hpp"

namespace haltpoll::preload {

/// Which handlers end a call. Poll, select and epoll: all; the others: those without SA_RESTART,
/// and all if a receive timeout is set (signal(7)).
enum class ended_by : bool { not_restarting_handlers, any_handler };

/// How long to try before the first yield, and between yields. A hand-over between two polling
/// processes takes 2 to 4 us, and a yield 0.8 us: with one in every try the pipe round trip is 5.5
/// us instead of 4.7.
inline constexpr u64 yield_every_ns = 4'000;

/// Calls without a poll after a contended one, at most. One vain poll costs up to yield_every_ns:
/// 1/256 of it per call is below what can be measured.
inline constexpr u32 longest_backoff = 256;

/// A call that took less did not block, where we cannot see it otherwise. The fastest wake-ups
/// measured take 5 us.
inline constexpr u64 shortest_block_ns = 2'000;

namespace detail {

inline void count(std::atomic<u64>& c, u64 by = 1) { c.fetch_add(by, std::memory_order_relaxed); }

inline uint64_t ending(ended_by e) {
  return e == ended_by::any_handler ? handlers::any() : handlers::not_restarting();
}

/// Counts a call that is made as it is because of an earlier contended poll.
void leave_alone(thread_state& t);

/// The governor's window for this call, 0: do not poll.
u64 window(thread_state& t, ended_by e);

/// Tells the governor how the call went.
void reflect(thread_state& t, const core::outcome& o);

/// How one poll ended.
enum class ending_of { hit, miss, contended, interrupted };

struct poll_result {
  ending_of how;
  u64 polled_ns;
};

/// Counts a poll and adjusts the backoff. Returns `p`.
poll_result account(thread_state& t, poll_result p, bool disturbed);

/// How a disturbed poll ends. One system call.
inline ending_of verdict(ended_by e) {
  return handlers::may_run(ending(e)) ? ending_of::interrupted : ending_of::contended;
}

/// Polls after a first attempt that found nothing; counts it and adjusts the backoff.
template <class Call>
poll_result poll(thread_state& t, Call& call, ended_by e, u64 window_ns) {
  // Armed after the first attempt: a handler that ran before this could as well have run before the
  // call.
  cpu::preemption_watch watch;
  watch.arm();
  const u64 start = cpu::now_ns();
  u64 now = start;
  u64 yield_at = start + yield_every_ns;
  for (;;) {
    const bool over = now - start >= window_ns;
    if (over || now >= yield_at) {
      if (over ? watch.disturbed() : watch.give_way())
        return account(t, {verdict(e), cpu::now_ns() - start}, true);
      if (over) return account(t, {ending_of::miss, now - start}, false);
      yield_at = now + yield_every_ns;
    }
    const bool done = call.attempt();
    now = cpu::now_ns();
    if (done) return account(t, {ending_of::hit, now - start}, t.backoff != 0 && watch.disturbed());
  }
}

/// The real call, timed. Returns its time, 0 if it had something to return at once.
template <class Call>
u64 block(thread_state& t, Call& call, u64 limit_ns) {
  const u64 start = cpu::now_ns();
  call.block(limit_ns);
  const u64 ns = cpu::now_ns() - start;
  if (stats_slot* c = counters(t)) {
    const int saved = errno;
    count(c->blocks);
    count(c->block_ns, ns);
    errno = saved;
  }
  return ns >= shortest_block_ns ? ns : 0;
}

}  // namespace detail

/// Runs `call`, polling first if that pays. Call:
///   bool attempt()       the non-blocking form; false: nothing yet. Sets result, and errno if that
///   is -1. void block(u64 ns)   the real call, to return after `ns` at the latest (core::never: no
///   limit). Sets the same.
/// `limit_ns`: the caller's timeout.
template <class Call>
void poll_then_block(Call& call, ended_by e, u64 limit_ns) {
  using detail::ending_of;
  const int saved = errno;
  thread_state& t = this_thread;
  if (t.left_alone != 0) {
    detail::leave_alone(t);
    return call.block(limit_ns);
  }
  const u64 window_ns = detail::window(t, e);
  core::outcome o;
  if (window_ns != 0) {
    if (call.attempt()) {  // it was there: one system call, no clock
      if (call.result >= 0) errno = saved;
      return;
    }
    const detail::poll_result p =
        detail::poll(t, call, e, window_ns < limit_ns ? window_ns : limit_ns);
    o.polled_ns = p.polled_ns;
    if (p.how == ending_of::hit) {
      o.state = core::poll_state;
      detail::reflect(t, o);
      if (call.result >= 0) errno = saved;
      return;
    }
    if (p.how == ending_of::interrupted) {
      call.result = -1;
      errno = EINTR;
      return;
    }
    o.timed_out = p.how == ending_of::miss;
    if (limit_ns != core::never) limit_ns = p.polled_ns < limit_ns ? limit_ns - p.polled_ns : 0;
  }
  errno = saved;
  o.block_ns = detail::block(t, call, limit_ns);
  if (o.block_ns != 0 || o.polled_ns != 0) detail::reflect(t, o);
}

}  // namespace haltpoll::preload
