#include "real.hpp"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace haltpoll::preload {
namespace {

/// The kernel's signal set is 8 bytes; libc's sigset_t is longer.
constexpr size_t kernel_sigset_size = 8;

struct deadline {
  timespec value;
  const timespec* pointer;
  explicit deadline(int ms)
      : value{ms / 1000, ms % 1000 * 1'000'000L}, pointer(ms < 0 ? nullptr : &value) {}
};

// The raw forms use only system calls that every architecture has.
namespace raw {
ssize_t read(int fd, void* b, size_t n) { return syscall(SYS_read, fd, b, n); }
ssize_t readv(int fd, const iovec* v, int n) { return syscall(SYS_readv, fd, v, n); }
ssize_t recvfrom(int fd, void* b, size_t n, int flags, sockaddr* a, socklen_t* al) {
  return syscall(SYS_recvfrom, fd, b, n, flags, a, al);
}
ssize_t recv(int fd, void* b, size_t n, int flags) {
  return raw::recvfrom(fd, b, n, flags, nullptr, nullptr);
}
ssize_t recvmsg(int fd, msghdr* m, int flags) { return syscall(SYS_recvmsg, fd, m, flags); }
int accept4(int fd, sockaddr* a, socklen_t* al, int flags) {
  return static_cast<int>(syscall(SYS_accept4, fd, a, al, flags));
}
int accept(int fd, sockaddr* a, socklen_t* al) { return raw::accept4(fd, a, al, 0); }
int ppoll(pollfd* f, nfds_t n, const timespec* t, const sigset_t* mask) {
  timespec left{};
  if (t != nullptr) left = *t;  // the kernel writes the rest back
  return static_cast<int>(
      syscall(SYS_ppoll, f, n, t != nullptr ? &left : nullptr, mask, kernel_sigset_size));
}
int poll(pollfd* f, nfds_t n, int ms) { return raw::ppoll(f, n, deadline(ms).pointer, nullptr); }
int pselect(int n, fd_set* r, fd_set* w, fd_set* e, const timespec* t, const sigset_t* mask) {
  timespec left{};
  if (t != nullptr) left = *t;
  const struct {
    const sigset_t* mask;
    size_t size;
  } set{mask, kernel_sigset_size};
  return static_cast<int>(syscall(SYS_pselect6, n, r, w, e, t != nullptr ? &left : nullptr, &set));
}
int select(int n, fd_set* r, fd_set* w, fd_set* e, timeval* t) {
  timespec left{};
  if (t != nullptr) left = {t->tv_sec, t->tv_usec * 1000};
  const long result = syscall(SYS_pselect6, n, r, w, e, t != nullptr ? &left : nullptr, nullptr);
  if (t != nullptr) *t = {left.tv_sec, left.tv_nsec / 1000};
  return static_cast<int>(result);
}
int epoll_pwait(int fd, epoll_event* e, int n, int ms, const sigset_t* mask) {
  return static_cast<int>(syscall(SYS_epoll_pwait, fd, e, n, ms, mask, kernel_sigset_size));
}
int epoll_wait(int fd, epoll_event* e, int n, int ms) {
  return raw::epoll_pwait(fd, e, n, ms, nullptr);
}
int epoll_pwait2(int fd, epoll_event* e, int n, const timespec* t, const sigset_t* mask) {
  return static_cast<int>(syscall(SYS_epoll_pwait2, fd, e, n, t, mask, kernel_sigset_size));
}
int close(int fd) { return static_cast<int>(syscall(SYS_close, fd)); }
int dup3(int from, int to, int flags) {
  return static_cast<int>(syscall(SYS_dup3, from, to, flags));
}
int dup2(int from, int to) {
  if (from == to) return syscall(SYS_fcntl, from, 1 /* F_GETFD */) < 0 ? -1 : to;
  return raw::dup3(from, to, 0);
}
int close_range(unsigned first, unsigned last, int flags) {
  return static_cast<int>(syscall(SYS_close_range, first, last, flags));
}
void closefrom(int first) {
  raw::close_range(first < 0 ? 0 : static_cast<unsigned>(first), ~0U, 0);
}
int setsockopt(int fd, int level, int name, const void* v, socklen_t n) {
  return static_cast<int>(syscall(SYS_setsockopt, fd, level, name, v, n));
}
}  // namespace raw

}  // namespace

constinit real_functions real = {
    .read = raw::read,
    .readv = raw::readv,
    .recv = raw::recv,
    .recvfrom = raw::recvfrom,
    .recvmsg = raw::recvmsg,
    .accept = raw::accept,
    .accept4 = raw::accept4,
    .poll = raw::poll,
    .ppoll = raw::ppoll,
    .select = raw::select,
    .pselect = raw::pselect,
    .epoll_wait = raw::epoll_wait,
    .epoll_pwait = raw::epoll_pwait,
    .epoll_pwait2 = raw::epoll_pwait2,
    .close = raw::close,
    .dup2 = raw::dup2,
    .dup3 = raw::dup3,
    .close_range = raw::close_range,
    .closefrom = raw::closefrom,
    .setsockopt = raw::setsockopt,
    // sigaction has no raw form: the restorer it passes to the kernel is libc's secret.
    .sigaction = nullptr,
    .fclose = nullptr,
    .pclose = nullptr,
    .freopen = nullptr,
    .freopen64 = nullptr,
    .signal = nullptr,
    .bsd_signal = nullptr,
    .ssignal = nullptr,
    .sysv_signal = nullptr,
    .__sysv_signal = nullptr,
    .sigset = nullptr,
    .siginterrupt = nullptr,
};

namespace {
template <class Function>
void look_up(Function*& entry, const char* name) {
  if (void* found = dlsym(RTLD_NEXT, name); found != nullptr)
    __atomic_store_n(&entry, reinterpret_cast<Function*>(found), __ATOMIC_RELAXED);
}
}  // namespace

void resolve_all() {
#define X(result, name, parameters) look_up(real.name, #name);
  HALTPOLL_WRAPPED(X)
#undef X
}

void resolve_if_needed() {
  if (__atomic_load_n(&real.siginterrupt, __ATOMIC_RELAXED) == nullptr) resolve_all();
}

}  // namespace haltpoll::preload
