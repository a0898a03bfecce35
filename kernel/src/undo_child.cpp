#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "daemon_parts.hpp"

namespace haltpoll::kernel {
namespace {

/// One MSR to write back, as it is told.
struct note {
  u64 cpu;
  u64 value;
};

void undo(const std::string& pins, msr_access& msr, const saved_host_poll& saved) {
  restore_host_poll(msr, saved);
  if (!pins.empty()) unpin(pins);
}

/// The child's whole life.
[[noreturn]] void wait_and_undo(int socket, int lock, const std::string& pins, msr_access& msr,
                                saved_host_poll saved) {
  ::setsid();  // signals to the daemon's group or terminal are not for us
  for (const int s : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2})
    ::signal(s, SIG_IGN);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::prctl(PR_SET_NAME, "haltpoll-undo");
  // Nothing else of the daemon's may stay open here, such as the pipe its parent waits on.
  constexpr int first_free = 3;
  const int safe_socket = ::fcntl(socket, F_DUPFD, 64), safe_lock = ::fcntl(lock, F_DUPFD, 64);
  if (::dup2(safe_socket, first_free) < 0 || ::dup2(safe_lock, first_free + 1) < 0) ::_exit(1);
  ::syscall(SYS_close_range, first_free + 2, ~0U, 0U);
  const int null = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < first_free && null >= 0; ++fd) ::dup2(null, fd);
  if (null >= first_free) ::close(null);
  if (::chdir("/") != 0) ::_exit(1);

  note n{};
  for (;;) {
    const ssize_t got = ::recv(first_free, &n, sizeof n, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof n) break;
    saved.values.emplace_back(static_cast<u32>(n.cpu), n.value);
  }
  undo(pins, msr, saved);
  ::_exit(0);
}

}  // namespace

undo_child::undo_child(const std::string& pins, msr_access& msr, int lock)
    : pins_(pins), msr_(msr), lock_(lock) {
  start();
}

void undo_child::start() {
  // Datagrams, so that a note is told whole or not at all, and a socket, so that a dead child is an error and not SIGPIPE.
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return;
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    wait_and_undo(ends[1], lock_, pins_, msr_, saved_);
  }
  const int error = errno;
  ::close(ends[1]);
  if (child < 0) ::close(ends[0]);
  errno = error;
  pid_ = child;
  socket_ = child < 0 ? -1 : ends[0];
}

undo_child::~undo_child() {
  if (pid_ <= 0) {
    undo(pins_, msr_, saved_);
    return;
  }
  ::close(socket_);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  // Killed since the last look.
  if (status != 0) undo(pins_, msr_, saved_);
}

bool undo_child::remember(const saved_host_poll& saved) {
  saved_ = saved;
  for (const auto& [cpu, value] : saved.values) {
    const note n{cpu, value};
    if (::send(socket_, &n, sizeof n, MSG_NOSIGNAL) != sizeof n) return false;
  }
  return true;
}

void undo_child::ensure() {
  if (pid_ > 0) {
    if (::waitpid(pid_, nullptr, WNOHANG) == 0) return;
    ::close(socket_);
    pid_ = socket_ = -1;
  }
  start();
}

}  // namespace haltpoll::kernel
