#pragma once
// core: what an idle CPU (or a waiting thread) decides. This header is the one interface of all
// governors.
//
// The room holds governors, state tables and the SPEC parser, and nothing that touches a machine:
// no clock, no system call, no atomics, no heap, no floating point, no recursion, no signed
// division. One source is compiled for user space, for BPF, for bare metal and for simulation, so
// only headers of this room may be included here.
//
// A governor is a namespace with plain structs `params` and `state` (no member functions: both live
// in BPF maps, and clang emits no usable BTF for structs that have them) and two functions over
// them:
//
//     decision select(const params&, state&, const request&);    before an idle state is entered
//     void     reflect(const params&, state&, const outcome&);   after it was left
//
// Both are always inlined, and so is what they call: a BPF function returns one register, a
// decision is larger, and libbpf links no function that stands in a section of its own, as inline
// ones do.
//
// Two kinds of caller use them. A *kernel-like* caller (the guest's idle loop, golden_replay) asks
// before every state it enters and reflects every state it left, as cpuidle does
// (kernel/sched/idle.c). A *period* caller (wait, process, the BPF programs) asks once per idle
// period, polls for `window_ns`, halts after a miss and reflects once, with both times. Both are
// the same to a governor: a period ends with one reflect that carries the block time, and what a
// timed-out poll alone would have told it is in that same outcome. A period caller that is given a
// latency limit of 0 must not halt after a miss either: it asks again, as the kernel does.
//
// Nothing here is thread safe: one `state` belongs to one CPU, thread or object at a time.
#include "types.hpp"

namespace haltpoll::core {

/// Index of the polling state. State tables that have one keep it first, as cpuidle does.
inline constexpr u32 poll_state = 0;
/// Index of the halt where only "poll or halt" is asked: the second state of the kernel's haltpoll
/// driver.
inline constexpr u32 halt_state = 1;

/// "No timer is armed", as the kernel says it (KTIME_MAX).
inline constexpr s64 no_timer = 0x7fff'ffff'ffff'ffffLL;

/// What is known before going idle. Window governors read `latency_limit_ns` only; the rest is for
/// governors that choose among idle states (state_table.hpp). Times in ns; those to a timer are
/// signed, because one that is overdue lies in the past, and count from where the caller says idle
/// began: in Linux from the entry to idle or the last interrupt since, not from select.
struct request {
  u64 latency_limit_ns = never;  ///< longest tolerated wake latency; 0 forbids halting (PM QoS)
  s64 next_timer_ns = no_timer;  ///< to the next timer if the tick is stopped
  s64 next_event_ns = no_timer;  ///< to the next timer or tick if the tick keeps running
  u64 disabled = 0;              ///< bit i set: idle state i is disabled
  bool tick_stopped = false;     ///< the tick is already stopped
  u32 iowaiters = 0;             ///< tasks of this CPU that wait for I/O
};

/// What to do now.
struct decision {
  u32 state = halt_state;  ///< idle state to enter
  bool stop_tick =
      true;           ///< false: the idle period should be too short to be worth stopping the tick
  u64 window_ns = 0;  ///< how long to poll in poll_state, ns; 0 elsewhere
};

/// What came of it. Times in ns.
struct outcome {
  u32 state = halt_state;  ///< idle state left last; poll_state: the period ended without a halt
  bool timed_out = false;  ///< the poll ran its whole window without a wake (a miss)
  bool spurious = false;   ///< the wake-up was for nothing (KVM: not a valid wake-up)
  u64 polled_ns = 0;       ///< time polled
  u64 block_ns = 0;  ///< time in `state` where that is not the poll: WITHOUT the poll before it
  s64 span_ns = 0;   ///< from select to reflect, the way into the state and out of it included
  bool woken_by_tick = false;  ///< the tick ended it
};

}  // namespace haltpoll::core
