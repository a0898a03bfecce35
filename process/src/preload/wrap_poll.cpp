// poll, ppoll: with a timeout of zero they are their own non-blocking form. With a signal mask the
// attempts use the same mask, so a pending signal that it lets through is delivered by the first of
// them, with EINTR.
#include "poll_loop.hpp"
#include "real.hpp"
#include "timeouts.hpp"

namespace haltpoll::preload {
namespace {

/// An attempt looks at every descriptor. Beyond this many that costs more than a wake-up saves.
constexpr nfds_t most_descriptors = 1024;

struct poll_call {
  pollfd* fds;
  nfds_t count;
  int ms;
  int result = -1;

  bool attempt() { return (result = real.poll(fds, count, 0)) != 0; }
  void block(u64 limit_ns) { result = real.poll(fds, count, ms < 0 ? ms : to_ms(limit_ns)); }
};

struct ppoll_call {
  pollfd* fds;
  nfds_t count;
  const timespec* timeout;
  u64 timeout_ns;
  const sigset_t* mask;
  int result = -1;

  bool attempt() {
    constexpr timespec zero{};
    return (result = real.ppoll(fds, count, &zero, mask)) != 0;
  }
  void block(u64 limit_ns) {
    const timespec left = to_timespec(limit_ns);
    result = real.ppoll(fds, count, timeout_ns == core::never ? timeout : &left, mask);
  }
};

/// Nothing to wait for is a sleep, and no timeout to speak of is no wait.
bool worth_a_poll(nfds_t count, u64 timeout_ns) {
  return config.polling.load(std::memory_order_acquire) && count != 0 &&
         count <= most_descriptors && timeout_ns != 0;
}

}  // namespace

HALTPOLL_EXPORT int poll(pollfd* fds, nfds_t count, int ms) {
  const u64 limit = from_ms(ms);
  if (!worth_a_poll(count, limit)) return real.poll(fds, count, ms);
  poll_call call{fds, count, ms};
  poll_then_block(call, ended_by::any_handler, limit);
  return call.result;
}

HALTPOLL_EXPORT int ppoll(pollfd* fds, nfds_t count, const timespec* timeout,
                          const sigset_t* mask) {
  const u64 limit = timeout == nullptr ? core::never : from_timespec(*timeout);
  if (!worth_a_poll(count, limit)) return real.ppoll(fds, count, timeout, mask);
  ppoll_call call{fds, count, timeout, limit, mask};
  poll_then_block(call, ended_by::any_handler, limit);
  return call.result;
}

extern "C" [[noreturn]] void __chk_fail();

HALTPOLL_EXPORT int __poll_chk(pollfd* fds, nfds_t count, int ms, size_t room) {
  if (room / sizeof *fds < count) __chk_fail();
  return poll(fds, count, ms);
}
HALTPOLL_EXPORT int __ppoll_chk(pollfd* fds, nfds_t count, const timespec* timeout,
                                const sigset_t* mask, size_t room) {
  if (room / sizeof *fds < count) __chk_fail();
  return ppoll(fds, count, timeout, mask);
}

}  // namespace haltpoll::preload
