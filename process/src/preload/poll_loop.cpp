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
  --t.left_alone;
  if (stats_slot* c = counters(t)) count(c->backed_off);
}

u64 window(thread_state& t, ended_by e) {
  const core::decision d = core::any::select(config.governor, t.governor, {});
  if (d.state != core::poll_state || d.window_ns == 0 || !ordinary_policy(t)) return 0;
  // Only now, as the first question makes the watch find out what the kernel shows, with a short
  // sleep.
  if (ending(e) != 0 && !cpu::preemption_watch::supported()) return 0;
  return d.window_ns;
}

void reflect(thread_state& t, const core::outcome& o) {
  core::any::reflect(config.governor, t.governor, o);
}

poll_result account(thread_state& t, poll_result p, bool disturbed) {
  const bool contended = p.how == ending_of::contended || p.how == ending_of::interrupted;
  if (contended) {
    t.backoff = t.backoff == 0 ? 1 : t.backoff * 2;
    if (t.backoff > longest_backoff) t.backoff = longest_backoff;
    t.left_alone = t.backoff;
  } else if (p.how == ending_of::hit && !disturbed) {
    t.backoff /= 2;
  }
  if (stats_slot* c = counters(t)) {
    count(c->polls);
    count(c->polled_ns, p.polled_ns);
    if (p.how == ending_of::hit) count(c->hits);
    if (contended) count(c->contended);
  }
  return p;
}

}  // namespace haltpoll::preload::detail
