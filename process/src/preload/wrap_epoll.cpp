// epoll_wait, epoll_pwait, epoll_pwait2: a timeout of zero is their non-blocking form. Unlike
// poll's, it does not deliver signals that only the call's mask lets through: those wait for the
// real call, one window at most.
#include "poll_loop.hpp"
#include "real.hpp"
#include "timeouts.hpp"

namespace haltpoll::preload {
namespace {

struct epoll_call {
  int fd;
  epoll_event* events;
  int count;
  int ms;
  const sigset_t* mask;
  int result = -1;

  int wait(int timeout) {
    return mask == nullptr ? real.epoll_wait(fd, events, count, timeout)
                           : real.epoll_pwait(fd, events, count, timeout, mask);
  }
  bool attempt() { return (result = wait(0)) != 0; }
  void block(u64 limit_ns) { result = wait(ms < 0 ? ms : to_ms(limit_ns)); }
};

struct epoll2_call {
  int fd;
  epoll_event* events;
  int count;
  const timespec* timeout;
  u64 timeout_ns;
  const sigset_t* mask;
  int result = -1;

  bool attempt() {
    constexpr timespec zero{};
    return (result = real.epoll_pwait2(fd, events, count, &zero, mask)) != 0;
  }
  void block(u64 limit_ns) {
    const timespec left = to_timespec(limit_ns);
    result =
        real.epoll_pwait2(fd, events, count, timeout_ns == core::never ? timeout : &left, mask);
  }
};

bool worth_a_poll(u64 timeout_ns) {
  return config.polling.load(std::memory_order_acquire) && timeout_ns != 0;
}

int wait_ms(int fd, epoll_event* events, int count, int ms, const sigset_t* mask) {
  epoll_call call{fd, events, count, ms, mask};
  const u64 limit = from_ms(ms);
  if (worth_a_poll(limit))
    poll_then_block(call, ended_by::any_handler, limit);
  else
    call.result = call.wait(ms);
  return call.result;
}

}  // namespace

HALTPOLL_EXPORT int epoll_wait(int fd, epoll_event* events, int count, int ms) {
  return wait_ms(fd, events, count, ms, nullptr);
}
HALTPOLL_EXPORT int epoll_pwait(int fd, epoll_event* events, int count, int ms,
                                const sigset_t* mask) {
  return wait_ms(fd, events, count, ms, mask);
}
HALTPOLL_EXPORT int epoll_pwait2(int fd, epoll_event* events, int count, const timespec* timeout,
                                 const sigset_t* mask) {
  const u64 limit = timeout == nullptr ? core::never : from_timespec(*timeout);
  if (!worth_a_poll(limit)) return real.epoll_pwait2(fd, events, count, timeout, mask);
  epoll2_call call{fd, events, count, timeout, limit, mask};
  poll_then_block(call, ended_by::any_handler, limit);
  return call.result;
}

}  // namespace haltpoll::preload
