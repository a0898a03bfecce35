#pragma once
// step: one idle decision with everything that went into it and came out of it, as one plain
// struct.
//
// golden_replay and the comparison of native and BPF builds hand steps to a governor through it.
// The BPF program (governors.bpf.cpp) runs the very run() below inside the kernel, so this file is
// compiled for BPF too and must include nothing but the room's own headers.
#include <haltpoll/core/any.hpp>

namespace haltpoll::golden {

struct step {
  core::any::params params;
  core::any::state state;  ///< before and after
  core::request request;
  core::u32 entered = 1;  ///< 0: no state was entered, nothing is reflected
  core::outcome outcome;
  /// The polling state's own limit, taken as the window if that is 0 when it is entered; 0: none.
  core::u64 default_limit_ns = 0;
  core::decision decision;  ///< out
  int event = 0;            ///< out: the trace point that fired: 1 grow, -1 shrink, 0 none
};

/// No trace point: adjust() and reflect() do not agree about the window.
inline constexpr int event_inconsistent = 2;

/// The trace point the coming reflect() fires, and in `window_ns` the window it leaves.
[[gnu::always_inline]] constexpr int event_of(const step& s, core::u64& window_ns) {
  int event = 0;
  if (s.params.which == core::any::kind::haltpoll) {
    core::haltpoll::state after = s.state.haltpoll;
    if (s.outcome.state != core::poll_state)
      event = core::haltpoll::adjust(s.params.haltpoll, after, s.outcome.block_ns);
    window_ns = after.window_ns;
  } else if (s.params.which == core::any::kind::host) {
    core::host::state after = s.state.host;
    if (s.params.host.polling_refused == 0)
      event = core::host::adjust(s.params.host, after, s.outcome.polled_ns + s.outcome.block_ns,
                                 s.outcome.spurious);
    window_ns = after.window_ns;
  }
  return event;
}

/// The window in force, ns; 0 for governors that keep none.
[[gnu::always_inline]] constexpr core::u64 window_of(const step& s) {
  if (s.params.which == core::any::kind::haltpoll) return s.state.haltpoll.window_ns;
  if (s.params.which == core::any::kind::host) return s.state.host.window_ns;
  return 0;
}

/// Asks for a decision, and reflects the outcome that the step brought along.
[[gnu::always_inline]] constexpr void run(step& s) {
  s.event = 0;
  s.decision = core::any::select(s.params, s.state, s.request);
  if (s.entered == 0) return;
  if (s.default_limit_ns != 0 && s.outcome.state == core::poll_state)
    core::haltpoll::poll_limit(s.state.haltpoll, s.default_limit_ns);
  core::u64 expected_window = 0;
  s.event = event_of(s, expected_window);
  core::any::reflect(s.params, s.state, s.outcome);
  if (window_of(s) != expected_window) s.event = event_inconsistent;
}

}  // namespace haltpoll::golden
