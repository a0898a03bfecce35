#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <haltpoll/cpu/preemption.hpp>

#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define HALTPOLL_HAVE_RSEQ 1
#endif

namespace haltpoll::cpu {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

#ifdef HALTPOLL_HAVE_RSEQ

// The section nobody enters. The kernel reads the descriptor when it clears the pointer, and kills
// the process where it is malformed: the four bytes before abort_ip must hold the signature that
// glibc registered, and abort_ip must lie outside of the section.
constexpr unsigned char never_executed = 0;
constexpr unsigned signature[2] = {RSEQ_SIG, 0};

struct descriptor {  // struct rseq_cs with pointers for its integers, so that the linker fills it
                     // in
  unsigned version;
  unsigned flags;
  const void* start_ip;
  u64 length;
  const void* abort_ip;
};
static_assert(sizeof(descriptor) == sizeof(rseq_cs));

alignas(rseq_cs) constinit const descriptor section = {0, 0, &never_executed, 1, &signature[1]};

/// This thread's area; null where it is not registered (a thread of a bare clone(), for one).
inline struct rseq* area() {
  if (__rseq_size == 0) return nullptr;
  auto* const a = reinterpret_cast<struct rseq*>(static_cast<char*>(__builtin_thread_pointer()) +
                                                 __rseq_offset);
  return static_cast<int>(const_cast<const volatile struct rseq*>(a)->cpu_id) >= 0 ? a : nullptr;
}

// volatile: the kernel writes the field between any two instructions of this thread.
inline volatile u64& pointer(struct rseq* a) {
  return *reinterpret_cast<volatile u64*>(&a->rseq_cs);
}

inline bool rseq_here() { return area() != nullptr; }
inline void rseq_set(bool on) { pointer(area()) = on ? reinterpret_cast<u64>(&section) : 0; }
inline bool rseq_cleared() { return pointer(area()) != reinterpret_cast<u64>(&section); }

#else

inline bool rseq_here() { return false; }
inline void rseq_set(bool) {}
inline bool rseq_cleared() { return true; }

#endif

u64 context_switches() {
  rusage r;
  getrusage(RUSAGE_THREAD, &r);
  return static_cast<u64>(r.ru_nvcsw) + static_cast<u64>(r.ru_nivcsw);
}

/// Whether being switched out inside a system call clears the pointer: sleep for a moment and look.
bool cleared_in_system_calls() {
  // Not nanosleep(): that one is a cancellation point.
  const timespec moment = {0, 10'000};
  const int saved = errno;
  bool cleared = true;
  // Twice, as a preemption just before the sleep clears it as well.
  for (int i = 0; i < 2 && cleared; ++i) {
    rseq_set(true);
    syscall(SYS_nanosleep, &moment, nullptr);
    cleared = rseq_cleared();
    rseq_set(false);
  }
  errno = saved;
  return cleared;
}

enum : int { unknown, use_rseq, use_rusage };
constinit std::atomic<int> found{unknown};
constinit std::atomic<int> forced{unknown};

/// What this process has. Threads that ask at the same time all find the same.
int available() {
  int f = found.load(relaxed);
  if (f == unknown) {
    f = rseq_here() && cleared_in_system_calls() ? use_rseq : use_rusage;
    found.store(f, relaxed);
  }
  return f;
}

int in_use() {
  const int f = forced.load(relaxed);
  return f != unknown ? f : available();
}

}  // namespace

void preemption_watch::arm() {
  if (in_use() == use_rseq && rseq_here()) {
    state_ = state::rseq;
    rseq_set(true);
  } else {
    state_ = state::rusage;
    switches_ = context_switches();
  }
}

bool preemption_watch::disturbed() const {
  switch (state_) {
    case state::off: return false;
    case state::rseq: return rseq_cleared();
    case state::rusage: return context_switches() != switches_;
  }
  return false;
}

bool preemption_watch::give_way() {
  sched_yield();
  return disturbed();
}

void preemption_watch::disarm() {
  if (state_ == state::rseq) rseq_set(false);
  state_ = state::off;
}

bool preemption_watch::supported() { return available() == use_rseq; }

const char* preemption_watch::source() { return in_use() == use_rseq ? "rseq" : "rusage"; }

bool preemption_watch::force_source(const char* name) {
  if (name == nullptr) {
    forced.store(unknown, relaxed);
  } else if (strcmp(name, "rusage") == 0) {
    forced.store(use_rusage, relaxed);
  } else if (strcmp(name, "rseq") == 0 && supported()) {
    forced.store(use_rseq, relaxed);
  } else {
    return false;
  }
  return true;
}

}  // namespace haltpoll::cpu
