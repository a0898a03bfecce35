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
// The last two are told apart as far as they can be. A disturbance (disturbance.hpp) does not say
// which it was; the number of context switches would not either, because a signal may have come
// while we were switched out. To lose a signal is wrong, and EINTR without a signal is something a
// program that installs handlers has to expect (a stop and SIGCONT do it to these calls as well,
// signal(7)). So: EINTR exactly if this thread has, unblocked, a handler which ends this kind of
// call (fault handlers do not count); else it was contention. Either way the next calls do not
// poll, so EINTR for nothing stays rare. Where the kernel cannot show disturbances
// (`sight::blind`), switches are counted and a process with such handlers does not poll at all.
//
// Cancellation: attempts and blocks go through libc functions that are cancellation points. No lock
// is held and nothing has to be undone if the thread is unwound here; the watch left behind points
// to a constant of this library.
#include <errno.h>
#include <sched.h>

#include <haltpoll/core/governor.hpp>
#include <haltpoll/cpu/clock.hpp>

#include "disturbance.hpp"
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

/// Counts a poll and adjusts the backoff.
void account(thread_state& t, ending_of how, u64 polled_ns, bool disturbed);

/// Watches for what must end a poll.
class watch {
 public:
  watch(ended_by e)
      : ended_by_(e), blind_(config.seeing.load(std::memory_order_relaxed) == sight::blind) {
    if (blind_)
      switches_ = disturbance::switches();
    else
      d_.arm();
  }
  ~watch() {
    if (!blind_) d_.disarm();
  }
  bool disturbed() const { return !blind_ && d_.seen(); }
  /// Lets others run; true if somebody did.
  bool yield() {
    sched_yield();
    return blind_ ? disturbance::switches() != switches_ : d_.seen();
  }
  ending_of verdict() const {
    return handlers::may_run(ending(ended_by_)) ? ending_of::interrupted : ending_of::contended;
  }

 private:
  disturbance d_;
  ended_by ended_by_;
  bool blind_;
  long switches_ = 0;
};

struct poll_result {
  ending_of how;
  u64 polled_ns;
};

/// Polls after a first attempt that found nothing.
template <class Call>
poll_result poll(Call& call, watch& w, u64 window_ns) {
  const u64 start = cpu::now_ns();
  u64 now = start;
  u64 yield_at = start + yield_every_ns;
  for (;;) {
    if (w.disturbed()) return {w.verdict(), now - start};
    if (now - start >= window_ns) return {ending_of::miss, now - start};
    if (now >= yield_at) {
      if (w.yield()) return {w.verdict(), cpu::now_ns() - start};
      yield_at = now + yield_every_ns;
    }
    const bool done = call.attempt();
    now = cpu::now_ns();
    if (done) return {ending_of::hit, now - start};
  }
}

/// Whether a call that took `ns` blocked.
inline bool blocked(sight s, bool seen, u64 ns) {
  return s == sight::full ? seen : ns >= shortest_block_ns;
}

/// The real call, timed. Returns its time, 0 if it had something to return at once. With `prove` it
/// is known that it will block, and the first such call tells what this kernel lets us see.
template <class Call>
u64 block(thread_state& t, Call& call, u64 limit_ns, bool prove) {
  const long switches = prove ? disturbance::switches() : 0;
  disturbance d;
  d.arm();
  const u64 start = cpu::now_ns();
  call.block(limit_ns);
  const int saved = errno;
  const bool seen = d.seen();
  d.disarm();
  const u64 ns = cpu::now_ns() - start;
  if (prove && disturbance::switches() != switches)
    config.seeing.store(seen ? sight::full : sight::blind, std::memory_order_relaxed);
  if (stats_slot* c = counters(t)) {
    count(c->blocks);
    count(c->block_ns, ns);
  }
  errno = saved;
  return blocked(config.seeing.load(std::memory_order_relaxed), seen, ns) ? ns : 0;
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
  bool prove = false;
  core::outcome o;
  if (window_ns != 0) {
    detail::watch w(e);
    if (call.attempt()) {  // it was there: one system call, no clock
      if (call.result >= 0) errno = saved;
      return;
    }
    prove = config.seeing.load(std::memory_order_relaxed) == sight::unknown;
    if (!prove) {
      const detail::poll_result p =
          detail::poll(call, w, window_ns < limit_ns ? window_ns : limit_ns);
      detail::account(t, p.how, p.polled_ns, w.disturbed());
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
  }
  errno = saved;
  o.block_ns = detail::block(t, call, limit_ns, prove);
  if (o.block_ns != 0 || o.polled_ns != 0) detail::reflect(t, o);
}

}  // namespace haltpoll::preload
