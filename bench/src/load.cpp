#include "load.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <haltpoll/cpu/clock.hpp>
#include <new>

#include "interrupts.hpp"
#include "statistics.hpp"

namespace haltpoll::bench {
namespace {

/// What the peer leaves for the measuring side to read after it exited.
struct peer_note {
  usage used;
  int error;
  u64 turn;
};

class shared_note {
 public:
  shared_note()
      : at_(::mmap(nullptr, sizeof(peer_note), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                   -1, 0)) {
    if (ok()) new (at_) peer_note{};
  }
  ~shared_note() {
    if (ok()) ::munmap(at_, sizeof(peer_note));
  }
  shared_note(const shared_note&) = delete;
  shared_note& operator=(const shared_note&) = delete;
  bool ok() const { return at_ != MAP_FAILED; }
  peer_note* operator->() const { return static_cast<peer_note*>(at_); }

 private:
  void* at_;
};

/// B's whole life. Never returns: destructors of the parent's objects must not run twice.
[[noreturn]] void answer(const job& j, const side& b, const shared_note& note) {
  usage begin;
  const auto fail = [&note](u64 turn) {
    note->error = errno;
    note->turn = turn;
    ::_exit(1);
  };
  if (!pin(j.cpu_b)) fail(0);
  for (u64 i = 0; i < warm_up_ops + j.ops; ++i) {
    if (i == warm_up_ops) begin = usage_of(RUSAGE_SELF);
    errno = 0;
    if (!b.turn()) fail(i);
  }
  note->used = usage_of(RUSAGE_SELF) - begin;
  ::_exit(0);
}

/// Why a side stopped: an end of file leaves errno 0.
std::string reason(int error) {
  return error == 0 ? "the other side closed" : std::strerror(error);
}

}  // namespace

usage usage_of(int who) {
  rusage r{};
  ::getrusage(who, &r);
  const auto ns = [](const timeval& t) {
    return static_cast<u64>(t.tv_sec) * 1'000'000'000 + static_cast<u64>(t.tv_usec) * 1'000;
  };
  return {ns(r.ru_utime) + ns(r.ru_stime), static_cast<u64>(r.ru_nvcsw)};
}

std::string failure(const std::string& what) { return what + ": " + std::strerror(errno); }

bool pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return ::sched_setaffinity(0, sizeof set, &set) == 0;
}

pid_t fork_tied() {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);  // it died before the signal was armed
  }
  return child;
}

std::string wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return failure("waitpid");
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  if (WEXITSTATUS(status) != 0) return "exit code " + std::to_string(WEXITSTATUS(status));
  return "";
}

sample from_stamps(const std::vector<u64>& stamps) {
  std::vector<u64> times(stamps.size() - 1);
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = stamps[i + 1] - stamps[i];
  sample s;
  s.ops = times.size();
  s.wall_ns = stamps.back() - stamps.front();
  s.mean_ns = s.wall_ns / s.ops;
  s.p50_ns = percentile(times, 500);
  s.p99_ns = percentile(times, 990);
  return s;
}

outcome ping_pong(const job& j, const side& a, const side& b) {
  if (j.ops == 0) return "a ping-pong needs at least one operation";
  std::vector<u64> stamps(j.ops + 1);  // written once here, so that no page fault is timed
  const shared_note note;
  if (!note.ok()) return failure("mmap");
  const pid_t peer = fork_tied();
  if (peer < 0) return failure("fork");
  if (peer == 0) {
    for (file* f : a.files) f->close();
    answer(j, b, note);
  }
  for (file* f : b.files) f->close();

  std::string problem;
  usage begin;
  if (!pin(j.cpu_a)) problem = failure("CPU " + std::to_string(j.cpu_a));
  const auto turns = [&](u64 count, u64* stamp) {
    for (u64 i = 0; i < count && problem.empty(); ++i) {
      errno = 0;
      if (!a.turn()) problem = "turn " + std::to_string(i) + ": " + reason(errno);
      if (stamp != nullptr) stamp[i] = cpu::now_ns();
    }
  };
  turns(warm_up_ops, nullptr);
  const auto interrupts_before = interrupts_sent();
  begin = usage_of(RUSAGE_SELF);
  stamps[0] = cpu::now_ns();
  turns(j.ops, stamps.data() + 1);
  const usage used = usage_of(RUSAGE_SELF) - begin;
  const auto interrupts_after = interrupts_sent();

  if (!problem.empty()) {
    for (file* f : a.files) f->close();  // a stream peer sees the end; a datagram one never would
    ::kill(peer, SIGKILL);
  }
  const std::string ended = wait_for(peer);
  if (note->error != 0 || (problem.empty() && !ended.empty()))
    return "peer, turn " + std::to_string(note->turn) + ": " +
           (ended.starts_with("signal") ? ended : reason(note->error));
  if (!problem.empty()) return problem;
  sample s = from_stamps(stamps);
  s.cpu_ns = used.cpu_ns + note->used.cpu_ns;
  s.halts = used.halts + note->used.halts;
  if (interrupts_before && interrupts_after) s.interrupts = *interrupts_after - *interrupts_before;
  return s;
}

}  // namespace haltpoll::bench
