#pragma once
// disturbance: was this thread switched out, or did a signal handler run in it, since arm()?
// Without a system call.
//
// The kernel looks at rseq->rseq_cs of a registered thread (glibc registers all since 2.35) on its
// way back to user mode after a preemption, a migration or a signal delivery. A descriptor that
// does not cover the interrupted instruction is cleared (include/uapi/linux/rseq.h). So we store a
// descriptor that covers nothing of ours and look whether it is still there: two stores and a load,
// where getrusage costs 470 ns and cannot see signals. A sched_yield() that finds nobody to yield
// to leaves it alone.
//
// Not every kernel can be trusted with it: since 6.19 those with the generic entry code only look
// on return from an interrupt, not from a system call, and then a yield that switched goes unseen.
// Whether this kernel does is not asked of its version but seen at the first real blocking call of
// the process: a voluntary switch was counted by getrusage, so the descriptor must be gone. Until
// then, `sight` is unknown and nothing polls.
#include <stdint.h>
#include <sys/resource.h>
#include <sys/rseq.h>

#include <atomic>

// A libc at run time may lack what the one we were built with has.
#pragma weak __rseq_offset
#pragma weak __rseq_size

namespace haltpoll::preload {

enum class sight : unsigned char {
  unknown,
  full,   ///< every switch and every signal handler is seen
  blind,  ///< neither is to be relied on: count switches with getrusage, do not see handlers at all
};

class disturbance {
 public:
  /// Whether the kernel takes part at all in this process.
  static bool registered() { return &__rseq_size != nullptr && __rseq_size != 0; }

  /// Starts watching. Ends with disarm(), also where the watch reports something.
  void arm() {
    if (registered()) store(reinterpret_cast<uintptr_t>(&nowhere));
  }
  /// True once somebody else ran on this CPU, we changed the CPU, or a signal handler ran.
  /// Meaningless unless `sight` is full.
  bool seen() const {
    return registered() &&
           __atomic_load_n(cs(), __ATOMIC_RELAXED) != reinterpret_cast<uintptr_t>(&nowhere);
  }
  void disarm() {
    if (registered()) store(0);
  }

  /// Context switches of this thread so far; 470 ns.
  static long switches() {
    rusage u;
    if (getrusage(RUSAGE_THREAD, &u) != 0) return 0;
    return u.ru_nvcsw + u.ru_nivcsw;
  }

 private:
  static uint64_t* cs() {
    return reinterpret_cast<uint64_t*>(static_cast<char*>(__builtin_thread_pointer()) +
                                       __rseq_offset + offsetof(struct rseq, rseq_cs));
  }
  static void store(uintptr_t v) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    __atomic_store_n(cs(), v, __ATOMIC_RELAXED);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }

  /// A valid descriptor (the kernel kills a thread with an invalid one) of a critical section that
  /// holds no code: one byte of data, and an abort address that is preceded by the signature and
  /// can never be jumped to, as we never run inside that byte.
  static const struct rseq_cs nowhere;
};

}  // namespace haltpoll::preload
