// recv, recvfrom, recvmsg: MSG_DONTWAIT is their non-blocking form.
#include "on_descriptor.hpp"

namespace haltpoll::preload {
namespace {

/// These do not wait, or wait for something else than the next data.
constexpr int straight_through = MSG_DONTWAIT | MSG_OOB | MSG_ERRQUEUE;

template <class Function>
struct receive_call {
  int flags;
  Function function;  // ssize_t(int flags)
  ssize_t result = -1;

  bool attempt() {
    result = function(flags | MSG_DONTWAIT);
    return result >= 0 || errno != EAGAIN;
  }
  void block(u64) { result = function(flags); }
};

template <class Function>
ssize_t receive(int fd, int flags, Function function) {
  if ((flags & straight_through) != 0) return function(flags);
  const auto plain = [=] { return function(flags); };
  // A non-blocking MSG_WAITALL would hand out what there is: wait until there is something, then
  // make the one real call.
  if ((flags & MSG_WAITALL) != 0)
    return on_descriptor(fd, plain, [&](descriptors::entry) {
      return when_ready{fd, plain, ssize_t{-1}};
    });
  return on_descriptor(fd, plain, [&](descriptors::entry) {
    return receive_call<Function>{flags, function};
  });
}

}  // namespace

HALTPOLL_EXPORT ssize_t recv(int fd, void* buffer, size_t size, int flags) {
  return receive(fd, flags, [=](int f) { return real.recv(fd, buffer, size, f); });
}
HALTPOLL_EXPORT ssize_t recvfrom(int fd, void* buffer, size_t size, int flags, sockaddr* address,
                                 socklen_t* length) {
  return receive(fd, flags,
                 [=](int f) { return real.recvfrom(fd, buffer, size, f, address, length); });
}
HALTPOLL_EXPORT ssize_t recvmsg(int fd, msghdr* message, int flags) {
  return receive(fd, flags, [=](int f) { return real.recvmsg(fd, message, f); });
}

extern "C" [[noreturn]] void __chk_fail();

HALTPOLL_EXPORT ssize_t __recv_chk(int fd, void* buffer, size_t size, size_t room, int flags) {
  if (size > room) __chk_fail();
  return recv(fd, buffer, size, flags);
}
HALTPOLL_EXPORT ssize_t __recvfrom_chk(int fd, void* buffer, size_t size, size_t room, int flags,
                                       sockaddr* address, socklen_t* length) {
  if (size > room) __chk_fail();
  return recvfrom(fd, buffer, size, flags, address, length);
}

}  // namespace haltpoll::preload
