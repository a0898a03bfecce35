#pragma once
// poll_loop: what every wrapped call does: ask the governor, poll with the call's own non-blocking
// form, block.
//
// A blocking call is one idle period of its thread. The governor is asked once (select) and told
// once (reflect): a hit, or a block with its time, without the poll before it. A poll ends with
//   hit           the attempt did what the call is for;
//   miss          the window, or the caller's timeout, ran out: the real call follows;
//   contended     somebody else needs this CPU: the real call follows.
//   interrupted   a signal arrived whose handler ends this call: EINTR (handlers.hpp).
// A signal that arrives between the last look for signals and the real call (under 1 us) is handled
// and ends nothing, as one that arrives just before a call does. The two are not independent: the
// thread that wakes up to send it may be what ended the poll.
//
// A poll in which somebody else ran, however it ended, is followed by calls that do not poll: at
// least `backoff` of them, and for `backoff` times as long as that poll took. `backoff` doubles
// with every contended poll and falls by one with every clean hit. The first bounds what a load
// that shares its CPU pays, one poll of a few us in 256 calls; the second what it costs among
// programs that compute, where a thread that yields gets the CPU back milliseconds later.
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

/// How long to try before the first yield, and between yields. A hand-over between two polling
/// processes takes 2 to 4 us, and a yield 0.8 us: with one in every try the pipe round trip is 5.5
/// us instead of 4.7.
inline constexpr u64 yield_every_ns = 4'000;

/// Calls without a poll after a contended one, and time without one in times of that poll: doubled
/// by every contended poll, one less for every clean hit. So the odd kernel thread (15 a second on
/// a machine that is otherwise quiet) costs a few polls, and where more than one poll in ten is
/// contended polling all but ends. 256: a vain poll of yield_every_ns in 256 calls cannot be
/// measured.
inline constexpr u32 shortest_backoff = 16;
inline constexpr u32 longest_backoff = 256;

/// After so many calls in a row that found something at once the thread is fed faster than it asks, and
/// the descriptor is as good as unknown: the plain call is made until one blocks. preadv2() takes a fifth
/// longer than read() (pipe throughput within one process: 0.83 of off). A hand-off finds the other
/// side faster than itself now and then, not 16 times in a row.
inline constexpr u32 fed_after = 16;

/// A call that took less did not block. The fastest wake-ups measured take 5 us.
inline constexpr u64 shortest_block_ns = 2'000;

namespace detail {

inline void count(std::atomic<u64>& c, u64 by = 1) { c.fetch_add(by, std::memory_order_relaxed); }

/// Counts a call that is made as it is because of an earlier contended poll.
void leave_alone(thread_state& t);

/// The governor's window for this call, 0: do not poll.
u64 window(thread_state& t);

/// Tells the governor how the call went.
void reflect(thread_state& t, const core::outcome& o);

/// How one poll ended.
enum class ending_of { hit, miss, contended, interrupted };

struct poll_result {
  ending_of how;
  u64 polled_ns;
};

/// The signal mask a call brings along, if it does.
template <class Call>
const sigset_t* mask_of(const Call& call) {
  if constexpr (requires { call.mask; })
    return call.mask;
  else
    return nullptr;
}

/// Counts a poll and adjusts the backoff. Returns `p`.
poll_result account(thread_state& t, poll_result p, bool disturbed);

/// Polls after a first attempt that found nothing; counts it and adjusts the backoff.
template <class Call>
poll_result poll(thread_state& t, Call& call, ended_by e, u64 window_ns) {
  // After the first attempt: a handler that ran before this could as well have run before the call.
  held_signals held(e, mask_of(call));
  cpu::preemption_watch watch;
  watch.arm();
  const u64 start = cpu::now_ns();
  u64 now = start;
  // A thread that met others here lately, or is new, asks before it holds the CPU, not after.
  u64 yield_at = t.backoff != 0 ? start : start + yield_every_ns;
  poll_result p{ending_of::miss, 0};
  bool disturbed = false;
  for (;;) {
    const bool over = now - start >= window_ns;
    if (over || now >= yield_at) {
      if (held.arrived()) break;
      disturbed = over ? watch.disturbed() : watch.give_way();
      if (disturbed) p.how = ending_of::contended;
      if (over || disturbed) break;
      yield_at = now + yield_every_ns;
    }
    const bool done = call.attempt();
    now = cpu::now_ns();
    if (done) {
      p.how = ending_of::hit;
      // Not asked of a short one: whoever ran did not take long either.
      disturbed = now - start > yield_every_ns && watch.disturbed();
      break;
    }
  }
  p.polled_ns = now - start;
  if (p.how != ending_of::hit) {
    p.polled_ns = cpu::now_ns() - start;
    if (held.will_end_call()) p.how = ending_of::interrupted;
  }
  held.release();
  return account(t, p, disturbed);
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

/// Runs `call`, polling first if that pays. `limit_ns`: the caller's timeout. Call has
///
/// `bool attempt()`, the non-blocking form; false: nothing yet;
///
/// `void block(u64 ns)`, the real call, to return after `ns` at the latest (core::never: no limit);
///
/// `result`, which both set, together with errno where it is -1.
template <class Call>
void poll_then_block(Call& call, ended_by e, u64 limit_ns) {
  using detail::ending_of;
  const int saved = errno;
  thread_state& t = this_thread;
  if (t.left_alone != 0) {
    detail::leave_alone(t);
    return call.block(limit_ns);
  }
  const u64 window_ns = detail::window(t);
  core::outcome o;
  if (window_ns != 0) {
    if (call.attempt()) {  // it was there: one system call, no clock
      ++t.at_once;
      if (call.result >= 0) errno = saved;
      return;
    }
    t.at_once = 0;
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
