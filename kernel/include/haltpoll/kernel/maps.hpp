#pragma once
// maps: what the BPF programs and everybody else share: one `control` and one `cpu_record` per possible CPU, in two mapped
// arrays, pinned as /sys/fs/bpf/haltpoll/control and /cpus. Compiled for BPF too: no standard headers, plain structs without member
// functions and without static members (clang 14 writes those into BTF as fields, and the kernel refuses it).
//
// Who writes what, and why no lock is needed: every field is naturally aligned and written whole, so a reader sees an old or
// a new value, never a mixture. The programs write a CPU's record on that CPU only, from one context (the idle task; the hooks
// do not nest), with one exception: `wakes_without_interrupt` is added to atomically by whoever wakes the CPU. User space writes
// `control` and the fields of a record that say so. Parameters are several fields: a program that runs while they are
// rewritten may decide one window by a mixture of old and new ones. Each value is valid by itself and the window is capped
// after the governor, so the worst of it is one period polled for the wrong time, at most hard_cap_ns.
#include <haltpoll/core/any.hpp>
#include <haltpoll/core/histogram.hpp>

namespace haltpoll::kernel {

using core::u32;
using core::u64;

/// Changes with every change of the structs below: a reader of another layout must not guess.
inline constexpr u32 maps_version = 1;

/// Why a CPU does not poll, or less. Bits of cpu_record::guards; names and texts in guards.hpp.
namespace guard {
inline constexpr u32 cpu_list = 1 << 0;   ///< not in the list of CPUs that the user gave
inline constexpr u32 nohz_full = 1 << 1;  ///< a nohz_full or isolated CPU
inline constexpr u32 steal = 1 << 2;      ///< the host takes the CPU away: window_cap_ns is lowered
inline constexpr u32 excluded =
    cpu_list | nohz_full;  ///< with one of these a CPU does not poll at all
}  // namespace guard

/// Room for where a setting came from (control::origin).
inline constexpr u32 origin_count = 32, origin_size = 64;

/// Written by user space, read by the programs.
struct control {
  core::any::params governor;
  u64 need_resched =
      0;  ///< mask in thread_info.flags; 0 until calibration has found it: no polling before
  u32 version = maps_version;
  u32 calibrating = 0;  ///< 1: programs collect flags
  u32 enabled = 0;      ///< 0: programs return at once, nothing is polled and nothing is counted
  u32 max_pollers = 0;  ///< CPUs that may poll at once; 0: no limit
  u32 max_polled_percent = 0;  ///< share of a CPU's time that may be polled; 0: no limit
  u32 daemon_pid = 0;          ///< who holds the links
  u32 paused_by =
      0;         ///< pid of a bench that switches `enabled`; the daemon undoes it when that is gone
  u32 hook = 0;  ///< kernel::hook of the entry program
  u32 inner_hook =
      0;  ///< 1: arch_cpu_idle_exit is attached, halts that end without a task are followed by a poll
  u64 polling_flag =
      0;  ///< mask of the polling flag; 0: this architecture has none, every wake sends an interrupt
  u64 started_ns = 0;     ///< CLOCK_MONOTONIC
  u32 steal_percent = 0;  ///< guard_steal, read by the daemon; 0: off
  u32 start_only =
      0;  ///< settings that only a start can change, a bit each, for who prints them (cli)
  u32 mwait_seen =
      0;  ///< permille of wakes of idle CPUs that needed no interrupt before anything polled
  /// Where each setting came from, terminated texts; the order is that of who prints them (cli).
  char origin[origin_count][origin_size] = {};
};

/// One CPU. Counters only rise; times in ns. The padding is on purpose: others write the last line.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct cpu_record {
  // Written by user space.
  u64 window_cap_ns;   ///< the window is at most this: hard_cap_ns, less under the steal guard
  u32 guards;          ///< bits of `guard` in force; changed with atomic or/and, several may write
  u32 steal_permille;  ///< what the steal guard measured last

  // Written by the programs.
  core::any::state governor;
  u64 entered_ns;      ///< the idle period that is open began then; 0: none is
  u64 poll_ended_ns;   ///< of the open period: since then the CPU halts
  u64 last_polled_ns;  ///< of the open period: time polled before the halt
  u64 window_ns;       ///< decided last, capped
  u64 share_since_ns;  ///< max_polled_percent: start of the span in which polled time is added up
  u64 share_polled_ns;
  u64 switches;  ///< context switches of the idle task at the last exit: did a task run in between?
  u32 ended_by_hit;
  u32 last_timed_out;

  u64 periods;            ///< idle periods ended
  u64 polls;              ///< polls begun
  u64 hits;               ///< polls that saw NEED_RESCHED: halts avoided
  u64 misses;             ///< polls that ran their window
  u64 hits_without_task;  ///< hits after which no task ran: NEED_RESCHED does not prove that one arrived
  u64 pending;            ///< entries with NEED_RESCHED set already: nothing to poll for
  u64 halts;  ///< halts, as far as seen: one per miss or period without a poll, more with the inner hook
  u64 polled_ns;
  u64 idle_ns;                ///< from entry to exit, polls included
  u64 refused_share;          ///< polls not begun because of max_polled_percent
  u64 refused_pollers;        ///< polls not begun because of max_pollers
  core::log2_histogram idle;  ///< lengths of idle periods

  // Calibration, written by the programs while control.calibrating is set.
  u64 entry_flags;  ///< AND of thread_info.flags at every entry; starts as all ones
  u64 exit_flags;   ///< the same at every exit
  u32 entries, exits;

  // Written by other CPUs: on a cache line of its own.
  alignas(64) u64 wakes_without_interrupt;  ///< sched:sched_wake_idle_without_ipi for this CPU
};

/// A poll may not look at the flags more often than this: the clock stands still while the machine suspends. 1 ms at 1 ns per look.
inline constexpr u32 max_turns = 1 << 20;
/// Looks at the flags per reading of the clock, which costs as much as 16 of them.
inline constexpr u32 turns_per_clock_read = 16;
/// Span of max_polled_percent, ns: a power of two near 0.1 s.
inline constexpr u64 share_span_ns = 1ULL << 27;

}  // namespace haltpoll::kernel
