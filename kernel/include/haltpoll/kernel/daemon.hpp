#pragma once
// daemon: the process that holds a backend: one per machine, undone however it ends.
//
// The lock is a flock() on lock_file, which holds the pid: the kernel drops it with the process, so a dead daemon never bars the
// next. Links go with the process too. What would stay (pins, the MSR of host_poll) is undone by a second, tiny process, forked before
// there is any link (a child that inherits links keeps them attached) and blocked reading a socket whose other end
// only the daemon holds: end of file means the daemon is gone, by exit or by SIGKILL. It is replaced if it is killed. If both are killed
// at once, the next start removes the pins; the MSR stays as it was set until the machine boots.
#include <functional>
#include <haltpoll/kernel/backend.hpp>
#include <haltpoll/kernel/host_poll.hpp>

namespace haltpoll::kernel {

struct daemon_options {
  start_options start;
  bool host_poll_control = false;  ///< switch the host's own halt polling off while we poll
  std::string lock = lock_file;
};

/// What a daemon reports once: that it polls, or why not. Called exactly once, before the loop; when it is a
/// refusal, everything is undone already.
using ready_callback = std::function<void(const std::variant<const backend*, refusal>&)>;

/// Runs until SIGTERM or SIGINT; wakes once a second for the guards. SIGHUP is ignored. Forks, so the caller has no other thread. Tells systemd by NOTIFY_SOCKET (READY=1, STOPPING=1,
/// STATUS=). Returns the exit code: 0, or that of the refusal.
int run_daemon(const daemon_options& o, const ready_callback& ready);

/// Asks the daemon to end (SIGTERM through a pidfd, so that a reused pid is never hit) and waits until the lock is
/// free, at most `patience_ms` (detaching waits for grace periods of the kernel: milliseconds, on a loaded machine a second or two).
/// Nothing: stopped, or nothing ran (`was_running` says); else why not.
std::optional<refusal> stop_daemon(bool& was_running, const std::string& lock = lock_file,
                                   u32 patience_ms = 30'000);

}  // namespace haltpoll::kernel
