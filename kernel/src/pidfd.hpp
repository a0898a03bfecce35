#pragma once
// pidfd: a process by descriptor, which goes on meaning that process when its pid is used again. By system call: glibc 2.36 declares
// its functions without extern "C".
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace haltpoll::kernel {

class pidfd {
 public:
  /// error() is errno where there is no such process (ESRCH).
  explicit pidfd(int pid)
      : fd_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))), error_(fd_ < 0 ? errno : 0) {}
  pidfd(const pidfd&) = delete;
  pidfd& operator=(const pidfd&) = delete;
  ~pidfd() {
    if (fd_ >= 0) close(fd_);
  }
  int error() const { return error_; }
  /// Ended, waited for or not.
  bool ended() const {
    pollfd p{fd_, POLLIN, 0};
    return error_ == ESRCH || (error_ == 0 && ::poll(&p, 1, 0) == 1);
  }
  /// 0 or errno.
  int send(int signal_number) const {
    return syscall(SYS_pidfd_send_signal, fd_, signal_number, nullptr, 0) == 0 ? 0 : errno;
  }

 private:
  int fd_, error_;
};

}  // namespace haltpoll::kernel
