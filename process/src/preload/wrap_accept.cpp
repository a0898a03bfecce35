// accept, accept4 have no non-blocking form: readiness, then the real call. If another thread or
// process took the connection in between, the real call waits, as it would have without us.
#include "on_descriptor.hpp"

namespace haltpoll::preload {
namespace {

template <class Real>
int accept_like(int fd, Real function) {
  return on_descriptor(fd, function, [&](descriptors::entry) {
    return when_ready{fd, function, -1};
  });
}

}  // namespace

HALTPOLL_EXPORT int accept(int fd, sockaddr* address, socklen_t* length) {
  return accept_like(fd, [=] { return real.accept(fd, address, length); });
}
HALTPOLL_EXPORT int accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
  return accept_like(fd, [=] { return real.accept4(fd, address, length, flags); });
}

}  // namespace haltpoll::preload
