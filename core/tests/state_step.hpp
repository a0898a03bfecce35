#pragma once
// state_step: as step.hpp, one idle decision with everything that went into it and came out of it,
// of the governors that choose among idle states.
#include <haltpoll/core/any_state.hpp>

namespace haltpoll::golden {

struct state_step {
  core::any_state::params params;
  core::any_state::state state;  ///< before and after
  core::request request;
  core::u32 entered = 1;  ///< 0: no state was entered, nothing is reflected
  core::outcome outcome;
  core::decision decision;    ///< out
  core::u32 asked_timer = 0;  ///< out: the decision depends on the time to the next timer
  core::u64 inner = 0;        ///< out: a number of the governor's own, right after select
};

/// Asks for a decision, and reflects the outcome that the step brought along.
[[gnu::always_inline]] constexpr void run(state_step& s) {
  s.decision = core::any_state::select(s.params, s.state, s.request);
  s.asked_timer = 0;
  s.inner = 0;
  if (s.params.which == core::any_state::kind::menu) {
    s.asked_timer = s.state.menu.asked_timer;
    s.inner = core::menu::factor(s.state.menu);
  } else if (s.params.which == core::any_state::kind::teo) {
    s.asked_timer = s.state.teo.asked_timer;
    s.inner = s.state.teo.total;
  }
  if (s.entered != 0) core::any_state::reflect(s.params, s.state, s.outcome);
}

}  // namespace haltpoll::golden
