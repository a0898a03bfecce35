#pragma once
// load: what the workloads share inside a worker: a pinned peer process, turns taken in ping-pong,
// and how time, CPU time and halts of one sample are counted.
//
// Each operation is timed by one reading of the clock, which ends it and begins the next, so the
// clock's own cost (30 ns by vDSO, 11 ns by TSC) is in every latency and the same in both arms: 0.2
// % of a pipe round trip.
#include <sys/types.h>
#include <unistd.h>

#include <functional>
#include <haltpoll/bench/workload.hpp>
#include <string>
#include <utility>
#include <vector>

namespace haltpoll::bench {

/// Turns before the timed ones: each worker is a fresh process, and the governors of core settle
/// within 1000 periods. What is measured is the steady state.
inline constexpr u64 warm_up_ops = 1000;

/// A file descriptor that closes itself.
class file {
 public:
  file() = default;
  explicit file(int fd) : fd_(fd) {}
  file(file&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  file& operator=(file&& o) noexcept {
    if (this != &o) close(), fd_ = std::exchange(o.fd_, -1);
    return *this;
  }
  ~file() { close(); }
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

/// CPU time and voluntary context switches of a process, from getrusage.
struct usage {
  u64 cpu_ns = 0;
  u64 halts = 0;
};
/// `who`: RUSAGE_SELF or RUSAGE_CHILDREN (those already waited for).
usage usage_of(int who);
inline usage operator-(usage a, usage b) { return {a.cpu_ns - b.cpu_ns, a.halts - b.halts}; }
inline usage operator+(usage a, usage b) { return {a.cpu_ns + b.cpu_ns, a.halts + b.halts}; }

/// "WHAT: Connection refused", from errno.
std::string failure(const std::string& what);

/// Pins the calling thread. False with errno where the CPU is not allowed.
bool pin(int cpu);

/// fork() of a child that is killed when its parent dies. 0 in the child.
pid_t fork_tied();
/// Waits for a child of ours; empty, or how it ended ("exit code 1", "signal 9").
std::string wait_for(pid_t child);

/// One side of a ping-pong.
struct side {
  /// One turn: for A send and wait for the answer, for B wait and answer. False: failed, with
  /// errno.
  std::function<bool()> turn;
  /// Descriptors that belong to this side; the other closes its copies, so that the death of one
  /// side ends the other.
  std::vector<file*> files;
};

/// A in this process on cpu_a, B in a child on cpu_b; warm_up_ops turns, then `ops` timed ones.
outcome ping_pong(const job& j, const side& a, const side& b);

/// Fills p50, p99, mean and wall from the times of all operations (must not be empty), in the order
/// they were taken: stamps[i] began operation i and stamps[i + 1] ended it.
sample from_stamps(const std::vector<u64>& stamps);

}  // namespace haltpoll::bench
