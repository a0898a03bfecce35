// messaging: more processes than CPUs, as `perf bench sched messaging`: groups of 20 senders and 20
// receivers, every sender writes 100 bytes to every receiver of its group, all over again. Nobody
// is pinned. What counts is the total time; the latency of a message is its time in a queue, so p50
// and p99 stay 0. An operation is one message.
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <haltpoll/cpu/clock.hpp>

#include "../load.hpp"
#include "all.hpp"

namespace haltpoll::bench {
namespace {

constexpr u32 groups = 2;  // 80 processes: perf's default of 10 groups needs 400
constexpr u32 senders = 20, receivers = 20;
constexpr u64 per_loop = u64{groups} * senders * receivers;
constexpr std::size_t message_size = 100;

/// The starting line: everybody says ready, then waits until the worker fires.
struct line_up {
  file ready_out, ready_in, fire_out, fire_in;

  std::string open() {
    int ready[2], fire[2];
    if (::pipe2(ready, O_CLOEXEC) != 0) return failure("pipe");
    ready_out = file(ready[0]), ready_in = file(ready[1]);
    if (::pipe2(fire, O_CLOEXEC) != 0) return failure("pipe");
    fire_out = file(fire[0]), fire_in = file(fire[1]);
    return "";
  }
  bool wait() const {
    pollfd fired{fire_out.get(), POLLIN, 0};
    return ::write(ready_in.get(), "", 1) == 1 && ::poll(&fired, 1, -1) == 1;
  }
  bool all_ready(u32 count) const {
    char byte;
    for (u32 i = 0; i < count; ++i)
      if (::read(ready_out.get(), &byte, 1) != 1) return false;
    return true;
  }
  bool fire() const { return ::write(fire_in.get(), "", 1) == 1; }
};

bool send_loops(const std::vector<file>& to, u64 loops) {
  const char data[message_size] = {};
  for (u64 i = 0; i < loops; ++i)
    for (const file& f : to)
      for (std::size_t done = 0; done < message_size;) {
        const ssize_t n = ::write(f.get(), data + done, message_size - done);
        if (n <= 0) return false;
        done += static_cast<std::size_t>(n);
      }
  return true;
}

bool receive_bytes(const file& from, u64 bytes) {
  char data[message_size];
  while (bytes > 0) {
    const ssize_t n = ::read(from.get(), data, message_size);
    if (n <= 0) return false;
    bytes -= static_cast<u64>(n);
  }
  return true;
}

/// Starts a child that lines up, does `work` and exits 0 if that returned true.
template <class Work>
bool start(const line_up& line, std::vector<pid_t>& children, Work work) {
  const pid_t child = fork_tied();
  if (child == 0) ::_exit(line.wait() && work() ? 0 : 1);
  if (child > 0) children.push_back(child);
  return child > 0;
}

std::string start_group(const line_up& line, u64 loops, std::vector<pid_t>& children) {
  std::vector<file> in;
  for (u32 r = 0; r < receivers; ++r) {
    int fds[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
      return failure("socketpair");
    const file out(fds[0]);
    in.emplace_back(fds[1]);
    if (!start(line, children, [&] { return receive_bytes(out, loops * senders * message_size); }))
      return failure("fork");
  }
  for (u32 s = 0; s < senders; ++s)
    if (!start(line, children, [&] { return send_loops(in, loops); })) return failure("fork");
  return "";
}

}  // namespace

outcome run_messaging(const job& j) {
  const u64 loops = (j.ops + per_loop - 1) / per_loop;  // whole loops; the sample says how many ops
  if (loops == 0) return "messaging needs at least one operation";
  line_up line;
  if (std::string problem = line.open(); !problem.empty()) return problem;

  std::vector<pid_t> children;
  std::string problem;
  for (u32 g = 0; g < groups && problem.empty(); ++g) problem = start_group(line, loops, children);
  if (problem.empty() && !line.all_ready(groups * (senders + receivers)))
    problem = failure("waiting for the processes");
  const usage before = usage_of(RUSAGE_CHILDREN);
  const u64 begin = cpu::now_ns();
  if (problem.empty() && !line.fire()) problem = failure("starting the processes");
  // What was started ends by itself once fired at, or with us; the runner bounds the time.
  if (!problem.empty()) return problem;
  for (const pid_t child : children)
    if (const std::string end = wait_for(child); !end.empty() && problem.empty())
      problem = "a process ended with " + end;
  if (!problem.empty()) return problem;

  sample s;
  s.wall_ns = cpu::now_ns() - begin;
  s.ops = loops * per_loop;
  s.mean_ns = s.wall_ns / s.ops;
  const usage used = usage_of(RUSAGE_CHILDREN) - before;
  s.cpu_ns = used.cpu_ns;
  s.halts = used.halts;
  return s;
}

}  // namespace haltpoll::bench
