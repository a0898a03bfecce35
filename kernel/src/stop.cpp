// The part of daemon.hpp that ends a daemon from outside.
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <haltpoll/kernel/daemon.hpp>
#include <thread>

#include "pidfd.hpp"

namespace haltpoll::kernel {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
constexpr int internal = 70, not_permitted = 77;

/// Has `pid` the file open? 1 yes, 0 no (or it is gone), else -errno.
int has_open(int pid, const std::string& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) return errno == ENOENT ? 0 : -errno;
  const std::string directory = "/proc/" + std::to_string(pid) + "/fd";
  DIR* entries = opendir(directory.c_str());
  if (entries == nullptr) return errno == ENOENT ? 0 : -errno;
  int found = 0;
  while (const dirent* entry = readdir(entries)) {
    struct stat open_file {};
    if (fstatat(dirfd(entries), entry->d_name, &open_file, 0) == 0 &&
        open_file.st_dev == file.st_dev && open_file.st_ino == file.st_ino)
      found = 1;
  }
  closedir(entries);
  return found;
}

refusal cannot_stop(int pid, int error) {
  refusal r;
  r.exit_code = error == EPERM || error == EACCES ? not_permitted : internal;
  r.what = "pid " + std::to_string(pid) + ": " + std::strerror(error);
  if (r.exit_code == not_permitted) r.hint = "stopping it takes root";
  return r;
}

/// Until the process is gone and whoever undoes for it has let the lock go. Another daemon may have taken it by then.
bool wait_until_undone(int pid, const pidfd& process, const std::string& lock,
                       clock::time_point deadline) {
  while (true) {
    if (process.ended() && (!lock_held(lock) || daemon_pid(lock).value_or(pid) != pid)) return true;
    if (clock::now() >= deadline) return false;
    std::this_thread::sleep_for(5ms);
  }
}

refusal not_ended(int pid, const std::string& lock, u32 patience_ms) {
  const std::string within = " within " + std::to_string(patience_ms) + " ms";
  if (pid == 0)
    return {internal, lock + ": not let go" + within, "what undoes for a killed daemon holds it",
            ""};
  return {internal, "pid " + std::to_string(pid) + ": has not ended" + within + " of SIGTERM", "",
          "kill -9 leaves the kernel as it was, too"};
}

}  // namespace

std::optional<refusal> stop_daemon(bool& was_running, const std::string& lock, u32 patience_ms) {
  was_running = false;
  const auto deadline = clock::now() + std::chrono::milliseconds(patience_ms);
  while (lock_held(lock)) {
    was_running = true;
    const int pid = daemon_pid(lock).value_or(0);
    // From here on the descriptor means one process; is it the one that holds the lock? Not if the pid was used again.
    const pidfd process(pid);
    const int holds = pid == 0 || process.ended() ? 0 : has_open(pid, lock);
    if (holds < 0) return cannot_stop(pid, -holds);
    if (holds == 1) {
      const int error = process.error() != 0 ? process.error() : process.send(SIGTERM);
      if (error != 0 && error != ESRCH) return cannot_stop(pid, error);
      if (wait_until_undone(pid, process, lock, deadline)) return std::nullopt;
      return not_ended(pid, lock, patience_ms);
    }
    // A daemon that is gone and being undone, or one that has not written its pid yet.
    if (clock::now() >= deadline) return not_ended(pid, lock, patience_ms);
    std::this_thread::sleep_for(5ms);
  }
  return std::nullopt;
}

}  // namespace haltpoll::kernel
