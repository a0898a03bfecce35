#pragma once
// real: the libc functions behind our wrappers.
//
// Every entry starts as a raw system call and is replaced by libc's own function when the library's
// constructor runs. So a wrapper works before that (another library's constructor, .preinit_array),
// needs no "resolve me first" test on any path, and dlsym, which may allocate, is called at one
// point of a process's life only. What the raw forms lack is cancellation, of which there is none
// before main's libraries are up.
//
// A new wrapped call is one line in HALTPOLL_WRAPPED, one function in raw_calls.cpp and one
// wrapper.
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>

/// Exported from the library; everything else is hidden.
#define HALTPOLL_EXPORT extern "C" __attribute__((visibility("default")))

// X(result, name, parameters)
#define HALTPOLL_WRAPPED(X)                                                                    \
  X(ssize_t, read, (int, void*, size_t))                                                       \
  X(ssize_t, readv, (int, const iovec*, int))                                                  \
  X(ssize_t, recv, (int, void*, size_t, int))                                                  \
  X(ssize_t, recvfrom, (int, void*, size_t, int, sockaddr*, socklen_t*))                       \
  X(ssize_t, recvmsg, (int, msghdr*, int))                                                     \
  X(int, accept, (int, sockaddr*, socklen_t*))                                                 \
  X(int, accept4, (int, sockaddr*, socklen_t*, int))                                           \
  X(int, poll, (pollfd*, nfds_t, int))                                                         \
  X(int, ppoll, (pollfd*, nfds_t, const timespec*, const sigset_t*))                           \
  X(int, select, (int, fd_set*, fd_set*, fd_set*, timeval*))                                   \
  X(int, pselect, (int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*))          \
  X(int, epoll_wait, (int, epoll_event*, int, int))                                            \
  X(int, epoll_pwait, (int, epoll_event*, int, int, const sigset_t*))                          \
  X(int, epoll_pwait2, (int, epoll_event*, int, const timespec*, const sigset_t*))             \
  /* observed: what they change matters to a poll */                                           \
  X(int, close, (int))                                                                         \
  X(int, dup2, (int, int))                                                                     \
  X(int, dup3, (int, int, int))                                                                \
  X(int, close_range, (unsigned, unsigned, int))                                               \
  X(void, closefrom, (int))                                                                    \
  X(int, setsockopt, (int, int, int, const void*, socklen_t))                                  \
  X(int, sigaction, (int, const struct sigaction*, struct sigaction*))                         \
  /* observed, without a raw form: looked up on first use if that is before our constructor */ \
  X(int, fclose, (FILE*))                                                                      \
  X(int, pclose, (FILE*))                                                                      \
  X(FILE*, freopen, (const char*, const char*, FILE*))                                         \
  X(FILE*, freopen64, (const char*, const char*, FILE*))                                       \
  X(sighandler_t, signal, (int, sighandler_t))                                                 \
  X(sighandler_t, bsd_signal, (int, sighandler_t))                                             \
  X(sighandler_t, ssignal, (int, sighandler_t))                                                \
  X(sighandler_t, sysv_signal, (int, sighandler_t))                                            \
  X(sighandler_t, __sysv_signal, (int, sighandler_t))                                          \
  X(sighandler_t, sigset, (int, sighandler_t))                                                 \
  X(int, siginterrupt, (int, int))

namespace haltpoll::preload {

struct real_functions {
#define X(result, name, parameters) result(*name) parameters;
  HALTPOLL_WRAPPED(X)
#undef X
};

extern real_functions real;

/// Replaces the raw forms by libc's functions; what this libc lacks stays raw. Called by the
/// constructor.
void resolve_all();

/// For the functions without a raw form: makes sure that all of them are there.
void resolve_if_needed();

}  // namespace haltpoll::preload
