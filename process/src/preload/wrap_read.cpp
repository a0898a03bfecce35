// read, readv: pipes, eventfds and their like answer preadv2(RWF_NOWAIT); what does not is asked
// with poll().
#include <sys/uio.h>

#include "on_descriptor.hpp"

namespace haltpoll::preload {
namespace {

template <class Real>
struct read_call {
  int fd;
  const iovec* vector;
  int count;
  descriptors::entry kind;
  Real function;
  ssize_t result = -1;

  bool attempt() {
    if ((kind & descriptors::by_poll) != 0) return when_ready_attempt();
    // The position -1 means the file's own, so this is readv() but for the flag.
    result = preadv2(fd, vector, count, -1, RWF_NOWAIT);
    if (result >= 0) return true;
    if (errno == EAGAIN) return false;
    if (errno != EOPNOTSUPP) return true;
    descriptors::refuse_nowait(fd, kind);
    kind |= descriptors::by_poll;
    return when_ready_attempt();
  }
  void block(u64) { result = function(); }

 private:
  bool when_ready_attempt() {
    if (!input_ready(fd)) return false;
    result = function();
    return true;
  }
};

template <class Real>
ssize_t read_like(int fd, const iovec* vector, int count, Real function) {
  return on_descriptor(fd, function, [&](descriptors::entry kind) {
    return read_call<Real>{fd, vector, count, kind, function};
  });
}

}  // namespace

HALTPOLL_EXPORT ssize_t read(int fd, void* buffer, size_t size) {
  const iovec one{buffer, size};
  return read_like(fd, &one, 1, [=] { return real.read(fd, buffer, size); });
}

HALTPOLL_EXPORT ssize_t readv(int fd, const iovec* vector, int count) {
  return read_like(fd, vector, count, [=] { return real.readv(fd, vector, count); });
}

extern "C" [[noreturn]] void __chk_fail();

HALTPOLL_EXPORT ssize_t __read_chk(int fd, void* buffer, size_t size, size_t room) {
  if (size > room) __chk_fail();
  return read(fd, buffer, size);
}

}  // namespace haltpoll::preload
