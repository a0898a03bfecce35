#include "poll_loop.hpp"

namespace haltpoll::preload::detail {
namespace {

/// Real-time threads must not: a yield does nothing for threads below them. Idle-class ones have
/// nothing to gain. Asked once per thread; a program that changes the policy later has blocked and
/// polled before.
bool ordinary_policy(thread_state& t) {
  if (t.policy == thread_state::unknown) {
    const int policy = sched_getscheduler(0);
    t.policy = policy == SCHED_OTHER || policy == SCHED_BATCH ? thread_state::ordinary
                                                              : thread_state::other;
  }
  return t.policy == thread_state::ordinary;
}

}  // namespace

void leave_alone(thread_state& t) {
  // The clock only now and then: 30 ns would be 1 % of a wait that shares its CPU.
  constexpr u32 calls_between_looks = 16;
  if (--t.left_alone == 0 && cpu::now_ns() < t.resume_ns) t.left_alone = calls_between_looks;
  if (stats_slot* c = counters(t)) count(c->backed_off);
}

u64 window(thread_state& t) {
  const core::decision d = core::any::select(config.governor, t.governor, {});
  if (d.state != core::poll_state || d.window_ns == 0 || !ordinary_policy(t)) return 0;
  return d.window_ns;
}

void reflect(thread_state& t, const core::outcome& o) {
  core::any::reflect(config.governor, t.governor, o);
}

poll_result account(thread_state& t, poll_result p, bool disturbed) {
  if (disturbed) {
    t.backoff *= 2;
    if (t.backoff < shortest_backoff) t.backoff = shortest_backoff;
    if (t.backoff > longest_backoff) t.backoff = longest_backoff;
    t.left_alone = t.backoff;
    t.resume_ns = cpu::now_ns() + p.polled_ns * t.backoff;
  } else if (p.how == ending_of::hit && t.backoff != 0) {
    --t.backoff;
  }
  if (stats_slot* c = counters(t)) {
    count(c->polls);
    count(c->polled_ns, p.polled_ns);
    if (p.how == ending_of::hit) count(c->hits);
    if (disturbed) count(c->contended);
  }
  return p;
}

}  // namespace haltpoll::preload::detail
