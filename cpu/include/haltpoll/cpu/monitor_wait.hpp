#pragma once
// monitor_wait: waiting until another CPU changes a word, without a system call.
#include <atomic>
#include <haltpoll/core/types.hpp>
#include <span>

namespace haltpoll::cpu {

using core::u32;
using core::u64;

/// One way to wait on an address. Entries are compiled in for the architecture and asked at run
/// time.
struct monitor_wait {
  const char* name;         ///< "umwait", "mwaitx", "wfet", "wfe", "relax"
  const char* description;  ///< one line for `haltpoll doctor`
  /// Whether this CPU, and this kernel, let this process use it. Cheap after the first call.
  bool (*supported)();
  /// Waits until (`word` & `mask`) differs from `seen`, or until now_ns() reaches `deadline_ns`.
  /// Returns the last value read, with acquire ordering; the caller compares. May return early.
  /// Never blocks in the kernel.
  u32 (*wait)(const std::atomic<u32>& word, u32 mask, u32 seen, u64 deadline_ns);
};

/// All entries of this architecture, best first; the last is "relax", which every machine supports.
std::span<const monitor_wait> monitor_waits();

/// The first supported entry, or the forced one.
const monitor_wait& best_monitor_wait();

/// Makes best_monitor_wait() return the entry of this name from now on; nullptr lifts it. False
/// where there is no such entry or it is not supported. For tests and for comparing ways on one
/// machine.
bool force_monitor_wait(const char* name);

}  // namespace haltpoll::cpu
