// select, pselect: attempts work on copies of the sets, because a call that finds nothing clears
// them. select() leaves the rest of its timeout in the caller's variable, as Linux does.
#include <string.h>

#include "poll_loop.hpp"
#include "real.hpp"
#include "timeouts.hpp"

namespace haltpoll::preload {
namespace {

/// Three sets, of which only the words that hold `count` descriptors are ever read or written:
/// programs allocate sets both longer and shorter than fd_set.
struct sets {
  int count;
  fd_set* of[3];

  size_t bytes() const { return (static_cast<size_t>(count) + 63) / 64 * 8; }
  void copy_to(const sets& other) const {
    for (int i = 0; i < 3; ++i)
      if (of[i] != nullptr) memcpy(other.of[i], of[i], bytes());
  }
};

/// `Real` is the call with its own way of passing a timeout: int(fd_set*, fd_set*, fd_set*, u64
/// ns).
template <class Real>
struct select_call {
  sets caller;
  Real function;
  int result = -1;

  bool attempt() {
    fd_set storage[3];
    sets copy{caller.count, {}};
    for (int i = 0; i < 3; ++i) copy.of[i] = caller.of[i] != nullptr ? &storage[i] : nullptr;
    caller.copy_to(copy);
    result = function(copy, 0);
    if (result > 0) copy.copy_to(caller);
    return result != 0;
  }
  void block(u64 limit_ns) { result = function(caller, limit_ns); }
};
template <class Real>
select_call(sets, Real) -> select_call<Real>;

/// More than FD_SETSIZE would need a copy of unknown size; nothing to wait for is a sleep.
bool worth_a_poll(const sets& s, u64 timeout_ns) {
  return config.polling.load(std::memory_order_acquire) && s.count > 0 && s.count <= FD_SETSIZE &&
         timeout_ns != 0 && (s.of[0] != nullptr || s.of[1] != nullptr || s.of[2] != nullptr);
}

}  // namespace

HALTPOLL_EXPORT int select(int count, fd_set* r, fd_set* w, fd_set* e, timeval* timeout) {
  const sets s{count, {r, w, e}};
  const u64 limit = timeout == nullptr ? core::never : from_timeval(*timeout);
  if (!worth_a_poll(s, limit)) return real.select(count, r, w, e, timeout);
  u64 left = limit;
  select_call call{s, [&](const sets& f, u64 ns) {
                     timeval t = to_timeval(ns);
                     if (limit == core::never && ns != 0)
                       return real.select(count, f.of[0], f.of[1], f.of[2], timeout);
                     const int result = real.select(count, f.of[0], f.of[1], f.of[2], &t);
                     if (ns != 0) left = from_timeval(t);
                     return result;
                   }};
  const u64 start = timeout != nullptr ? cpu::now_ns() : 0;
  poll_then_block(call, ended_by::any_handler, limit);
  if (timeout == nullptr || limit == core::never) return call.result;
  if (left == limit) {  // ended by an attempt
    const u64 elapsed = cpu::now_ns() - start;
    left = elapsed < limit ? limit - elapsed : 0;
  }
  *timeout = {static_cast<time_t>(left / ns_per_s),
              static_cast<suseconds_t>(left % ns_per_s / 1000)};
  return call.result;
}

HALTPOLL_EXPORT int pselect(int count, fd_set* r, fd_set* w, fd_set* e, const timespec* timeout,
                            const sigset_t* mask) {
  const sets s{count, {r, w, e}};
  const u64 limit = timeout == nullptr ? core::never : from_timespec(*timeout);
  if (!worth_a_poll(s, limit)) return real.pselect(count, r, w, e, timeout, mask);
  select_call call{s, [=](const sets& f, u64 ns) {
                     const timespec t = to_timespec(ns);
                     const bool own = limit == core::never && ns != 0;
                     return real.pselect(count, f.of[0], f.of[1], f.of[2], own ? timeout : &t,
                                         mask);
                   }};
  poll_then_block(call, ended_by::any_handler, limit);
  return call.result;
}

}  // namespace haltpoll::preload
