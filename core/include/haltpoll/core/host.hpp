#pragma once
// host: KVM's host-side halt polling (virt/kvm/kvm_main.c), exact for 6.1 and 6.12 (only the
// default of `shrink` differs: 0 and 2).
//
// Unlike the guest governor it judges the whole halt *including* the poll, its bounds are strict (a
// halt of exactly the maximum changes nothing), growth is not capped at once (the cap is applied at
// the next halt), and a growth factor of 0 turns growth off.
#include "governor.hpp"

namespace haltpoll::core::host {

/// Module parameters of kvm, and the per-VM override.
struct params {
  u32 halt_poll_ns = 200'000;            ///< cap of the window, ns (x86; 500'000 on arm64)
  u32 halt_poll_ns_grow = 2;             ///< factor; 0 never grows
  u32 halt_poll_ns_grow_start = 10'000;  ///< floor of a grown window, ns; smaller ones shrink to 0
  u32 halt_poll_ns_shrink = 2;           ///< divisor; 0 drops the window to 0
  u32 vm_cap_ns = 0;                     ///< KVM_CAP_HALT_POLL of this VM, ns
  u32 has_vm_cap = 0;                    ///< 1: vm_cap_ns takes the place of halt_poll_ns
  u32 polling_refused =
      0;  ///< 1: the guest opted out (MSR) or the host may not poll; window frozen
};

struct state {
  u64 window_ns = 0;  ///< vcpu->halt_poll_ns
};

/// The cap in force, ns.
[[gnu::always_inline]] constexpr u64 max_window(const params& p) {
  return p.has_vm_cap != 0 ? p.vm_cap_ns : p.halt_poll_ns;
}

[[gnu::always_inline]] constexpr decision select(const params& p, state& s, const request&) {
  const u64 max = max_window(p);
  if (s.window_ns > max) s.window_ns = max;
  if (p.polling_refused != 0 || s.window_ns == 0) return {};
  return {poll_state, false, s.window_ns};
}

[[gnu::always_inline]] constexpr int grow(const params& p, state& s) {
  if (p.halt_poll_ns_grow != 0) {
    u32 w = static_cast<u32>(s.window_ns) * p.halt_poll_ns_grow;  // 32 bits wide, as in the kernel
    if (w < p.halt_poll_ns_grow_start) w = p.halt_poll_ns_grow_start;
    s.window_ns = w;
  }
  return 1;
}

[[gnu::always_inline]] constexpr int shrink(const params& p, state& s) {
  u32 w = 0;
  if (p.halt_poll_ns_shrink != 0) {
    w = static_cast<u32>(s.window_ns) / p.halt_poll_ns_shrink;
    if (w < p.halt_poll_ns_grow_start) w = 0;
  }
  s.window_ns = w;
  return -1;
}

/// The step of the window after a halt, public for the trace point: 1 grow, -1 shrink (either fires
/// even if the value stays), 0 none.
[[gnu::always_inline]] constexpr int adjust(const params& p, state& s, u64 halt_ns, bool spurious) {
  if (spurious) return shrink(p, s);
  const u64 max = max_window(p);
  if (max == 0) {
    s.window_ns = 0;
    return 0;
  }
  if (halt_ns <= s.window_ns) return 0;
  if (s.window_ns != 0 && halt_ns > max) return shrink(p, s);
  if (s.window_ns < max && halt_ns < max) return grow(p, s);
  return 0;
}

[[gnu::always_inline]] constexpr void reflect(const params& p, state& s, const outcome& o) {
  if (p.polling_refused != 0) return;
  adjust(p, s, o.polled_ns + o.block_ns, o.spurious);
}

}  // namespace haltpoll::core::host
