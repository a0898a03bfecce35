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

/// Real-time threads must not: a yield does nothing for threads below them. Idle-class ones have
/// nothing to gain.
inline bool ordinary_policy(thread_state& t) {
  if (t.policy == thread_state::unknown) {
    const int policy = sched_getscheduler(0);
    t.policy = policy == SCHED_OTHER || policy == SCHED_BATCH ? thread_state::ordinary
                                                              : thread_state::other;
  }
  return t.policy == thread_state::ordinary;
}

/// The window of this call, 0: do not poll.
inline u64 window(thread_state& t, ended_by e) {
  const sight s = config.seeing.load(std::memory_order_relaxed);
  if (s == sight::unknown || (s == sight::blind && ending(e) != 0)) return 0;
  if (t.left_alone != 0) {
    --t.left_alone;
    if (stats_slot* c = counters(t)) count(c->backed_off);
    return 0;
  }
  const core::decision d = core::any::select(config.governor, t.governor, {});
  if (d.state != core::poll_state || d.window_ns == 0 || !ordinary_policy(t)) return 0;
  return d.window_ns;
}

inline void back_off(thread_state& t) {
  t.backoff = t.backoff == 0 ? 1 : t.backoff * 2;
  if (t.backoff > longest_backoff) t.backoff = longest_backoff;
  t.left_alone = t.backoff;
}

/// How one poll ended.
enum class ending_of { hit, miss, contended, interrupted };

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

struct block_result {
  bool blocked;  ///< false: the call had something to return at once
  u64 block_ns;
};

/// The real call, timed. The first one that blocks also tells what this kernel lets us see.
template <class Call>
block_result block(thread_state& t, Call& call, u64 limit_ns) {
  const sight s = config.seeing.load(std::memory_order_relaxed);
  disturbance d;
  const long switches = s == sight::unknown ? disturbance::switches() : 0;
  d.arm();
  const u64 start = cpu::now_ns();
  call.block(limit_ns);
  const u64 ns = cpu::now_ns() - start;
  const bool seen = d.seen();
  d.disarm();
  const int saved = errno;
  bool blocked = s == sight::full ? seen : ns >= shortest_block_ns;
  if (s == sight::unknown) {
    blocked = disturbance::switches() != switches;
    if (blocked) config.seeing.store(seen ? sight::full : sight::blind, std::memory_order_relaxed);
  }
  if (stats_slot* c = counters(t)) {
    count(c->blocks);
    count(c->block_ns, ns);
  }
  errno = saved;
  return {blocked, ns};
}

inline void reflect(thread_state& t, const core::outcome& o) {
  core::any::reflect(config.governor, t.governor, o);
}

}  // namespace detail

/// Runs `call`, polling first if that pays. Call:
///   bool attempt()         the non-blocking form; false: nothing yet. Sets result and errno.
///   void block(u64 ns)     the real call, to return after `ns` at the latest (core::never: no
///   limit). void interrupted()     the result for EINTR; errno is set by us.
/// `limit_ns`: the caller's timeout. `seen_blocking` (or null): false if the real call had
/// something to return at once.
template <class Call>
void poll_then_block(Call& call, ended_by e, u64 limit_ns) {
  const int saved = errno;
  thread_state& t = this_thread;
  u64 window_ns = detail::window(t, e);
  core::outcome o;
  if (window_ns != 0) {
    if (window_ns > limit_ns) window_ns = limit_ns;
    detail::poll_result p;
    {
      detail::watch w(e);
      if (call.attempt()) {  // data was there: one system call, no clock
        if (call.result >= 0) errno = saved;
        return;
      }
      p = detail::poll(call, w, window_ns);
      if (p.how == detail::ending_of::hit && !w.disturbed()) t.backoff /= 2;
    }
    if (stats_slot* c = counters(t)) {
      detail::count(c->polls);
      detail::count(c->polled_ns, p.polled_ns);
      if (p.how == detail::ending_of::hit) detail::count(c->hits);
      if (p.how == detail::ending_of::contended || p.how == detail::ending_of::interrupted)
        detail::count(c->contended);
    }
    switch (p.how) {
      case detail::ending_of::hit:
        o.state = core::poll_state;
        o.polled_ns = p.polled_ns;
        detail::reflect(t, o);
        if (call.result >= 0) errno = saved;
        return;
      case detail::ending_of::interrupted:
        detail::back_off(t);
        call.result = -1;
        errno = EINTR;
        return;
      case detail::ending_of::contended: detail::back_off(t); break;
      case detail::ending_of::miss: o.timed_out = true; break;
    }
    o.polled_ns = p.polled_ns;
    if (limit_ns != core::never) limit_ns = p.polled_ns < limit_ns ? limit_ns - p.polled_ns : 0;
  }
  errno = saved;
  const detail::block_result b = detail::block(t, call, limit_ns);
  if (!b.blocked && o.polled_ns == 0) return;  // not an idle period
  o.block_ns = b.block_ns;
  detail::reflect(t, o);
}

}  // namespace haltpoll::preload
