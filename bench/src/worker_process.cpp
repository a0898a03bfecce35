#include "worker_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <haltpoll/cpu/clock.hpp>

#include "load.hpp"
#include "wire.hpp"

namespace haltpoll::bench {
namespace {

/// A sample is below 10 kB (the curve of `wake` is the longest); more is not ours.
constexpr std::size_t output_limit = 1 << 20;

std::vector<char*> pointers(const std::vector<std::string>& from) {
  std::vector<char*> to;
  for (const std::string& s : from) to.push_back(const_cast<char*>(s.c_str()));
  to.push_back(nullptr);
  return to;
}

std::vector<std::string> environment_with(const std::vector<std::string>& added) {
  std::vector<std::string> all = added;
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string_view old = *e;
    bool replaced = false;
    for (const std::string& a : added) replaced |= old.starts_with(a.substr(0, a.find('=') + 1));
    if (!replaced) all.emplace_back(old);
  }
  return all;
}

/// Takes what is there; false at the end.
bool drain(int fd, std::string& into) {
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    if (n == 0 || into.size() > output_limit) return false;
    into.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const std::size_t cut = text.rfind('\n');
  return cut == std::string::npos ? text : text.substr(cut + 1);
}

struct running {
  pid_t pid = -1;
  file pidfd, out, err;
};

std::variant<running, std::string> start(const worker_command& c) {
  int out[2], err[2];
  if (::pipe2(out, O_CLOEXEC) != 0) return failure("pipe");
  running r;
  r.out = file(out[0]);
  const file out_in(out[1]);
  if (::pipe2(err, O_CLOEXEC) != 0) return failure("pipe");
  r.err = file(err[0]);
  const file err_in(err[1]);
  ::fcntl(r.out.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(r.err.get(), F_SETFL, O_NONBLOCK);

  const std::vector<std::string> environment = environment_with(c.environment);
  const std::vector<char*> argv = pointers(c.argv), envp = pointers(environment);
  r.pid = fork_tied();
  if (r.pid < 0) return failure("fork");
  if (r.pid == 0) {
    ::setpgid(0, 0);
    ::dup2(out_in.get(), STDOUT_FILENO);
    ::dup2(err_in.get(), STDERR_FILENO);
    ::execve(argv[0], argv.data(), envp.data());
    ::_exit(127);
  }
  ::setpgid(r.pid, r.pid);  // whichever of the two comes first
  // Not pidfd_open(): glibc 2.36 declares it without C linkage.
  r.pidfd = file(static_cast<int>(::syscall(SYS_pidfd_open, r.pid, 0)));
  return r;
}

}  // namespace

outcome run_worker(const worker_command& c) {
  auto started = start(c);
  if (auto* problem = std::get_if<std::string>(&started)) return *problem;
  running& r = std::get<running>(started);

  std::string said, complained;
  const u64 deadline = cpu::now_ns() + u64{c.limit_seconds} * 1'000'000'000;
  bool ended = false, late = !r.pidfd.ok();
  pollfd on[] = {{r.pidfd.get(), POLLIN, 0}, {r.out.get(), POLLIN, 0}, {r.err.get(), POLLIN, 0}};
  while (!ended && !late) {
    const u64 now = cpu::now_ns();
    late = now >= deadline;
    const int wait_ms = late ? 0 : static_cast<int>((deadline - now) / 1'000'000) + 1;
    if (::poll(on, 3, wait_ms) < 0 && errno != EINTR) break;
    if (on[1].revents != 0 && !drain(r.out.get(), said)) on[1].fd = -1;
    if (on[2].revents != 0 && !drain(r.err.get(), complained)) on[2].fd = -1;
    ended = on[0].revents != 0;
  }
  // Before the worker is reaped, while its group's number cannot belong to anybody else.
  ::kill(-r.pid, SIGKILL);
  drain(r.out.get(), said);
  drain(r.err.get(), complained);
  const std::string end = wait_for(r.pid);
  if (!ended)
    return "the worker did not finish in " + std::to_string(c.limit_seconds) + " s and was killed";
  if (end == "exit code 127") return "cannot run " + c.argv[0];
  if (said.empty())
    return "the worker said nothing (" + (end.empty() ? "exit code 0" : end) +
           (complained.empty() ? ")" : "): " + last_line(complained));
  return decode(said);
}

std::string worker_program(std::vector<std::string>& looked_at) {
  std::array<char, PATH_MAX> self{};
  const ssize_t n = ::readlink("/proc/self/exe", self.data(), self.size() - 1);
  const std::string path(self.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  const std::string here = path.substr(0, path.rfind('/') + 1);
  looked_at = {here + "haltpoll-worker", here + "../libexec/haltpoll/haltpoll-worker",
               here + "../bench/haltpoll-worker"};
  if (const char* given = std::getenv("HALTPOLL_WORKER")) looked_at = {given};
  for (const std::string& place : looked_at)
    if (::access(place.c_str(), X_OK) == 0) return place;
  return "";
}

}  // namespace haltpoll::bench
