// redis: the real redis-server on cpu_b and the real redis-benchmark with one client on cpu_a, both
// under the arm's environment. Requests per second are compared.
//
// The server listens on a free port of 127.0.0.1, persists nothing, and runs in a directory that is
// removed before it starts: it can neither load nor leave a file. Both die with this worker.
#include "redis.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <haltpoll/cpu/clock.hpp>
#include <sstream>

#include "../load.hpp"
#include "../sockets.hpp"
#include "all.hpp"

namespace haltpoll::bench {
namespace {

constexpr int exit_not_found = 127;

/// Only to end with a clear error; starting up is not measured.
constexpr u64 server_start_limit_ns = 10'000'000'000;

/// Starts a program of the PATH on `cpu` with its output in `out`.
pid_t start(const std::vector<std::string>& argv, int cpu, int out) {
  std::vector<char*> pointers;
  for (const std::string& a : argv) pointers.push_back(const_cast<char*>(a.c_str()));
  pointers.push_back(nullptr);
  const pid_t child = fork_tied();
  if (child != 0) return child;
  ::dup2(out, STDOUT_FILENO);
  if (!pin(cpu)) ::_exit(1);
  ::execvp(pointers[0], pointers.data());
  ::_exit(exit_not_found);
}

std::string ended(const std::string& program, const std::string& how) {
  if (how == "exit code " + std::to_string(exit_not_found))
    return program + " not found (./dev setup installs it)";
  return program + " ended with " + (how.empty() ? "exit code 0" : how);
}

/// Makes an empty directory the current one and removes it: it lives on as long as somebody is in
/// it, and nothing can be created there.
std::string enter_vanished_directory() {
  std::string path = (std::filesystem::temp_directory_path() / "haltpoll-bench-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) return failure(path);
  const bool entered = ::chdir(path.c_str()) == 0;
  if (::rmdir(path.c_str()) != 0 || !entered) return failure(path);
  return "";
}

class server {
 public:
  server() = default;
  server(const server&) = delete;
  server& operator=(const server&) = delete;
  ~server() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    wait_for(pid_);
  }

  int port() const { return port_; }

  /// Empty once it accepts connections. Its log goes to our standard error.
  std::string start_on(int cpu) {
    {
      const file probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      port_ = bind_loopback(probe.get());
      if (port_ == 0) return failure("no free port on 127.0.0.1");
    }
    pid_ = start({"redis-server", "--bind", "127.0.0.1", "--port", std::to_string(port_), "--save",
                  "", "--appendonly", "no", "--daemonize", "no", "--loglevel", "warning"},
                 cpu, STDERR_FILENO);
    if (pid_ < 0) return failure("fork");
    const u64 deadline = cpu::now_ns() + server_start_limit_ns;
    while (cpu::now_ns() < deadline) {
      if (accepts()) return "";
      siginfo_t gone{};
      if (::waitid(P_PID, static_cast<id_t>(pid_), &gone, WEXITED | WNOHANG | WNOWAIT) == 0 &&
          gone.si_pid != 0)
        return ended("redis-server", wait_for(std::exchange(pid_, -1)));
      const timespec pause{0, 1'000'000};
      ::nanosleep(&pause, nullptr);
    }
    return "redis-server did not accept connections within 10 s";
  }

  /// CPU time so far, and voluntary switches of its threads (the worker threads of redis only
  /// wait).
  usage used() const {
    usage u;
    clockid_t clock;
    timespec t{};
    if (::clock_getcpuclockid(pid_, &clock) == 0 && ::clock_gettime(clock, &t) == 0)
      u.cpu_ns = static_cast<u64>(t.tv_sec) * 1'000'000'000 + static_cast<u64>(t.tv_nsec);
    const std::string tasks = "/proc/" + std::to_string(pid_) + "/task";
    std::error_code ignored;
    for (const auto& task : std::filesystem::directory_iterator(tasks, ignored)) {
      std::ifstream status(task.path() / "status");
      for (std::string key; status >> key; std::getline(status, key))
        if (u64 n; key == "voluntary_ctxt_switches:" && status >> n) u.halts += n;
    }
    return u;
  }

 private:
  bool accepts() const {
    const file probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return connect_loopback(probe.get(), port_);
  }

  pid_t pid_ = -1;
  int port_ = 0;
};

/// Runs redis-benchmark to its end; what it printed goes to `csv`. Empty, or what went wrong.
std::string benchmark(int port, int cpu, const std::string& tests, u64 ops, std::string& csv) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return failure("pipe");
  const file out(fds[0]);
  file in(fds[1]);
  const pid_t child = start({"redis-benchmark", "-h", "127.0.0.1", "-p", std::to_string(port), "-c",
                             "1", "-n", std::to_string(ops), "-t", tests, "--csv"},
                            cpu, in.get());
  in.close();
  if (child < 0) return failure("fork");
  // Wait before reading: its few lines fit the pipe, and this process must not poll for them.
  if (const std::string how = wait_for(child); !how.empty()) return ended("redis-benchmark", how);
  std::array<char, 4096> buffer;
  for (ssize_t n; (n = ::read(out.get(), buffer.data(), buffer.size())) > 0;)
    csv.append(buffer.data(), static_cast<std::size_t>(n));
  return "";
}

}  // namespace

bool read_redis_csv(const std::string& csv, sample& s) {
  // "test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_...","p99_...","max_..."
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("\"GET\",")) continue;
    std::erase(line, '"');
    std::istringstream cells(line.substr(line.find(',') + 1));
    std::vector<double> values;
    for (std::string cell; std::getline(cells, cell, ',');)
      values.push_back(std::strtod(cell.c_str(), nullptr));
    if (values.size() < 7 || values[0] <= 0) return false;
    const auto ns = [](double ms) { return static_cast<u64>(std::llround(ms * 1e6)); };
    s.wall_ns = static_cast<u64>(static_cast<double>(s.ops) * 1e9 / values[0]);
    s.mean_ns = static_cast<u64>(1e9 / values[0]);
    s.p50_ns = ns(values[3]);
    s.p99_ns = ns(values[5]);
    return true;
  }
  return false;
}

outcome run_redis(const job& j) {
  if (j.ops == 0) return "redis needs at least one operation";
  if (std::string problem = enter_vanished_directory(); !problem.empty()) return problem;
  server redis;
  if (std::string problem = redis.start_on(j.cpu_b); !problem.empty()) return problem;
  // SET first, so that GET finds a value; and the governors see traffic before they are measured.
  std::string ignored, csv;
  if (std::string problem = benchmark(redis.port(), j.cpu_a, "set,get", warm_up_ops, ignored);
      !problem.empty())
    return problem;
  // The client's use includes its start : it is another process, measured as a whole.
  const usage before = redis.used() + usage_of(RUSAGE_CHILDREN);
  if (std::string problem = benchmark(redis.port(), j.cpu_a, "get", j.ops, csv); !problem.empty())
    return problem;
  const usage used = redis.used() + usage_of(RUSAGE_CHILDREN) - before;
  sample s;
  s.ops = j.ops;
  if (!read_redis_csv(csv, s))
    return "redis-benchmark printed no result for GET: " + csv.substr(0, 200);
  s.cpu_ns = used.cpu_ns;
  s.halts = used.halts;
  return s;
}

}  // namespace haltpoll::bench
