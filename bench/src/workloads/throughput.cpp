// throughput: loads that polling must leave alone, in the role of UnixBench: computing, system
// calls, process creation, pipes. One index over all parts, the geometric mean of their rates, as
// UnixBench makes its own (its reference rates cancel where two arms are compared).
//
// Ping-pongs are left out on purpose (UnixBench has one, context1): polling speeds them up several
// times and would hide a loss elsewhere in the mean.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <haltpoll/cpu/clock.hpp>

#include "../load.hpp"
#include "all.hpp"

namespace haltpoll::bench {
namespace {

/// Time for one part unless the job says otherwise, ms.
constexpr u64 default_part_ms = 250;
/// A part runs in so many passes, of which the median counts: a disturbed pass costs nothing.
constexpr u64 passes = 5;

/// Keeps the results of pure computations alive.
volatile double sink;

/// Does `one` until `slice_ns` are over. False as soon as `one` fails; errno says why.
template <class One>
bool repeat(u64 slice_ns, double& per_second, One one) {
  const u64 start = cpu::now_ns();
  u64 done = 0, elapsed = 0;
  do {
    if (!one()) return false;
    ++done;
    elapsed = cpu::now_ns() - start;
  } while (elapsed < slice_ns);
  per_second = 1e9 * static_cast<double>(done) / static_cast<double>(elapsed);
  return true;
}

/// Sorts 1024 pseudo-random numbers and hashes the result.
bool integer(const job&, u64 slice_ns, double& per_second) {
  std::array<u32, 1024> numbers;
  u32 x = 2463534242;
  return repeat(slice_ns, per_second, [&] {
    for (u32& n : numbers) {
      x ^= x << 13, x ^= x >> 17, x ^= x << 5;
      n = x;
    }
    std::sort(numbers.begin(), numbers.end());
    u32 hash = 2166136261;
    for (const u32 n : numbers) hash = (hash ^ n) * 16777619;
    sink = hash;
    return true;
  });
}

/// Escape times of a 32 x 32 grid over the Mandelbrot set.
bool floating(const job&, u64 slice_ns, double& per_second) {
  return repeat(slice_ns, per_second, [] {
    constexpr int side = 32, limit = 200;
    int total = 0;
    for (int i = 0; i < side * side; ++i) {
      const int column = i % side, row = i / side;
      const double cx = -2.0 + 2.5 * column / side;
      const double cy = -1.25 + 2.5 * row / side;
      double x = 0, y = 0;
      for (int n = 0; n < limit && x * x + y * y < 4; ++n, ++total) {
        const double next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
      }
    }
    sink = total;
    return true;
  });
}

/// The mix of UnixBench's system call test. Four at a time, for the clock is read after each.
bool system_calls(const job&, u64 slice_ns, double& per_second) {
  return repeat(slice_ns, per_second, [] {
    for (int i = 0; i < 4; ++i) {
      const int fd = dup(STDERR_FILENO);
      if (fd < 0 || close(fd) != 0) return false;
      umask(umask(022));
      syscall(SYS_getppid);
    }
    return true;
  });
}

/// Waits for a child; true if it ended with 0.
bool reap(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return false;
  errno = ECHILD;  // what a child that failed is reported as
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool create_process(const job&, u64 slice_ns, double& per_second) {
  return repeat(slice_ns, per_second, [] {
    const pid_t pid = fork();
    if (pid == 0) _exit(0);
    return pid > 0 && reap(pid);
  });
}

/// The environment goes along: under the preload library every new program loads it too.
bool execute_program(const job&, u64 slice_ns, double& per_second) {
  return repeat(slice_ns, per_second, [] {
    char path[] = "/bin/true";
    char* const argv[] = {path, nullptr};
    pid_t pid = 0;
    errno = posix_spawn(&pid, path, nullptr, nullptr, argv, environ);
    return errno == 0 && reap(pid);
  });
}

struct pipe_ends {
  file reader, writer;
};
bool open(pipe_ends& p) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return false;
  p = {file(fds[0]), file(fds[1])};
  return true;
}

/// 512 bytes into a pipe and out again within one thread, as UnixBench: nothing ever blocks.
bool pipe_alone(const job&, u64 slice_ns, double& per_second) {
  pipe_ends p;
  if (!open(p)) return false;
  std::array<char, 512> block{};
  constexpr auto whole = static_cast<ssize_t>(block.size());
  return repeat(slice_ns, per_second, [&] {
    return write(p.writer.get(), block.data(), block.size()) == whole &&
           read(p.reader.get(), block.data(), block.size()) == whole;
  });
}

/// Blocks of 4 KiB from a process on the peer's CPU, which ends when nobody reads any more.
bool pipe_stream(const job& j, u64 slice_ns, double& per_second) {
  pipe_ends p;
  if (!open(p)) return false;
  std::array<char, 4096> block{};
  const pid_t child = fork_tied();
  if (child < 0) return false;
  if (child == 0) {
    p.reader.close();
    signal(SIGPIPE, SIG_IGN);
    if (pin(j.cpu_b))
      while (write(p.writer.get(), block.data(), block.size()) > 0) {
      }
    _exit(0);
  }
  p.writer.close();
  const bool read_all = repeat(slice_ns, per_second, [&] {
    for (std::size_t have = 0; have < block.size();) {
      const ssize_t n = read(p.reader.get(), block.data(), block.size() - have);
      if (n <= 0) return false;
      have += static_cast<std::size_t>(n);
    }
    return true;
  });
  p.reader.close();
  return reap(child) && read_all;
}

struct load {
  const char* name;
  bool (*run)(const job&, u64 slice_ns, double& per_second);
};
constexpr load loads[] = {
    {"integer", integer},
    {"floating", floating},
    {"system_calls", system_calls},
    {"create_process", create_process},
    {"execute_program", execute_program},
    {"pipe_alone", pipe_alone},
    {"pipe_stream", pipe_stream},
};

usage used_so_far() { return usage_of(RUSAGE_SELF) + usage_of(RUSAGE_CHILDREN); }

}  // namespace

outcome run_throughput(const job& j) {
  if (!pin(j.cpu_a)) return failure("CPU " + std::to_string(j.cpu_a));
  const u64 slice_ns = (j.ops == 0 ? default_part_ms : j.ops) * 1'000'000 / passes;
  sample s;
  double sum_of_logs = 0;
  const usage before = used_so_far();
  const u64 start = cpu::now_ns();
  for (const load& l : loads) {
    std::array<double, passes> rates{};
    for (double& rate : rates)
      if (!l.run(j, slice_ns, rate)) return failure(l.name);
    std::sort(rates.begin(), rates.end());
    s.parts.push_back({l.name, rates[passes / 2]});
    sum_of_logs += std::log(rates[passes / 2]);
  }
  s.wall_ns = cpu::now_ns() - start;
  const usage used = used_so_far() - before;

  // The index is what the sample shows as operations per second.
  const double index = std::exp(sum_of_logs / std::size(loads));
  s.ops = static_cast<u64>(std::llround(index * static_cast<double>(s.wall_ns) / 1e9));
  s.p50_ns = s.p99_ns = s.mean_ns = static_cast<u64>(std::llround(1e9 / index));
  s.cpu_ns = used.cpu_ns;
  s.halts = used.halts;
  return s;
}

}  // namespace haltpoll::bench
