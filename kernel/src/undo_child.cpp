#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "daemon_parts.hpp"

namespace haltpoll::kernel {
namespace {

/// One MSR to write back, as it goes through the pipe.
struct note {
  u32 cpu;
  u64 value;
};

/// The child's whole life.
[[noreturn]] void wait_and_undo(int pipe, int lock, const std::string& pins, msr_access& msr) {
  ::setsid();  // signals to the daemon's group or terminal are not for us
  for (const int s : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(s, SIG_IGN);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::prctl(PR_SET_NAME, "haltpoll-undo");
  // Nothing else of the daemon's may stay open here, such as the pipe its parent waits on.
  constexpr int first_free = 3;
  const int safe_pipe = ::fcntl(pipe, F_DUPFD, 64), safe_lock = ::fcntl(lock, F_DUPFD, 64);
  if (::dup2(safe_pipe, first_free) < 0 || ::dup2(safe_lock, first_free + 1) < 0) ::_exit(1);
  ::syscall(SYS_close_range, first_free + 2, ~0U, 0U);
  const int null = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < first_free && null >= 0; ++fd) ::dup2(null, fd);
  if (null >= 0) ::close(null);
  if (::chdir("/") != 0) ::_exit(1);

  saved_host_poll saved;
  note n{};
  for (;;) {
    const ssize_t got = ::read(first_free, &n, sizeof n);
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof n) break;
    saved.values.emplace_back(n.cpu, n.value);
  }
  restore_host_poll(msr, saved);
  if (!pins.empty()) unpin(pins);
  ::_exit(0);
}

}  // namespace

undo_child::undo_child(const std::string& pins, msr_access& msr, int lock) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[1]);
    wait_and_undo(ends[0], lock, pins, msr);
  }
  const int error = errno;
  ::close(ends[0]);
  if (child < 0) ::close(ends[1]);
  errno = error;
  pid_ = child;
  pipe_ = child < 0 ? -1 : ends[1];
}

undo_child::~undo_child() {
  if (pid_ <= 0) return;
  ::close(pipe_);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool undo_child::remember(const saved_host_poll& saved) {
  for (const auto& [cpu, value] : saved.values) {
    note n{};
    n.cpu = cpu;
    n.value = value;
    if (::write(pipe_, &n, sizeof n) != sizeof n)
      return false;  // below PIPE_BUF: whole or not at all
  }
  return true;
}

}  // namespace haltpoll::kernel
