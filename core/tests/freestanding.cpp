// The proof that core needs nothing: every header of the room, every governor, no C library, no
// standard header, no floating-point register. Linked alone, so an undefined symbol (memcpy,
// __udivdi3) is an error; and run, as guest kernels run it: from the first instruction on. Exit 0
// if the governors decide as they do everywhere else. The same file compiles for BPF, without the
// entry.
#include <haltpoll/core/any.hpp>
#include <haltpoll/core/any_state.hpp>
#include <haltpoll/core/branchless.hpp>
#include <haltpoll/core/breakeven.hpp>
#include <haltpoll/core/fixed.hpp>
#include <haltpoll/core/governor.hpp>
#include <haltpoll/core/haltpoll.hpp>
#include <haltpoll/core/host.hpp>
#include <haltpoll/core/ladder.hpp>
#include <haltpoll/core/menu.hpp>
#include <haltpoll/core/spec.hpp>
#include <haltpoll/core/state_table.hpp>
#include <haltpoll/core/teo.hpp>
#include <haltpoll/core/types.hpp>

using namespace haltpoll::core;

namespace {
/// A polling state and 2/2, 10/20 and 133/600 us.
constexpr state_table server{4, {{0, 0, 1}, {2'000, 2'000}, {10'000, 20'000}, {133'000, 600'000}}};
}  // namespace

// Out of the optimiser's sight, so that nothing below is worked out by the compiler.
extern "C" {
any::params parameters;
any::state states;
any_state::params state_parameters{.menu = {server}, .teo = {server}, .ladder = {server}};
any_state::state state_states;
}

namespace {

/// Runs periods of `gap_ns` until `periods` are over; the window then.
[[gnu::always_inline]] inline u64 settle(any::kind which, u64 gap_ns, int periods) {
  parameters.which = which;
  u64 window_ns = 0;
  for (int i = 0; i < periods; ++i) {
    const decision d = any::select(parameters, states, {});
    window_ns = d.window_ns;
    outcome o;
    if (d.state == poll_state && gap_ns <= window_ns) {
      o.state = poll_state;
      o.polled_ns = gap_ns;
    } else {
      o.timed_out = d.state == poll_state;
      o.polled_ns = window_ns;
      o.block_ns = gap_ns - window_ns;
    }
    any::reflect(parameters, states, o);
  }
  return window_ns;
}

}  // namespace

extern "C" u32 failures() {
  u32 failed = 0;
  // Golden trap: wakes every 150 us settle at 100 us, and every poll misses.
  if (settle(any::kind::haltpoll, 150'000, 20) != 100'000) failed |= 1;
  if (settle(any::kind::host, 150'000, 20) != 160'000) failed |= 2;
  if (settle(any::kind::fixed, 150'000, 1) != 50'000) failed |= 4;
  if (settle(any::kind::breakeven, 150'000, 1) != 28'000) failed |= 8;
  return failed;
}

/// Idles for 100 us, with a timer in 3 ms; the idle state chosen. Not inlined: in a loop the
/// optimiser keeps half of the table at hand, which is more than the stack that BPF has.
extern "C" [[gnu::noinline]] u32 idle_once() {
  request r;
  r.next_timer_ns = r.next_event_ns = 3'000'000;
  outcome o;
  o.state = any_state::select(state_parameters, state_states, r).state;
  o.block_ns = 100'000;
  o.span_ns = 100'000;
  any_state::reflect(state_parameters, state_states, o);
  return o.state;
}

extern "C" u32 state_failures() {
  // Ladder is led to the deepest state by stays that are shorter than its exit latency.
  constexpr u32 settles_at[] = {2, 2, 3};
  for (u32 which = 0; which < 3; ++which) {
    state_parameters.which = static_cast<any_state::kind>(which);
    u32 chosen = 0;
    for (int i = 0; i < 20; ++i) chosen = idle_once();
    if (chosen != settles_at[which]) return 64 + which;
  }
  return 0;
}

#ifndef __bpf__
extern "C" u32 spec_failures() {
  char buffer[spec::max_length];
  spec::line out{buffer, sizeof buffer};
  const spec::result accepted = spec::parse("haltpoll:guest_halt_poll_ns=100000");
  if (accepted.code != spec::error::none) return 16;
  spec::format(accepted.params, out);
  const spec::result refused = spec::parse("fixed:window_ns=2000000");
  out.size = 0;
  spec::describe(refused, out);
  return refused.code == spec::error::out_of_range && out.size != 0 ? 0 : 32;
}

extern "C" [[noreturn]] void entry() {
  const u64 code = failures() | spec_failures() | state_failures();
#if defined(__x86_64__)
  asm volatile("syscall" ::"a"(60ULL), "D"(code) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
  register u64 status asm("x0") = code;
  register u64 number asm("x8") = 93;
  asm volatile("svc 0" ::"r"(status), "r"(number) : "memory");
#endif
  __builtin_unreachable();
}

// The stack of a new process is aligned to 16 bytes, that of a called function is not.
#if defined(__x86_64__)
asm(".globl _start\n_start: call entry\n");
#elif defined(__aarch64__)
asm(".globl _start\n_start: bl entry\n");
#endif
#endif
