#pragma once
// governors: core's governors (namespaces of functions) as types, for the primitives' template
// parameter. Parameters are part of the type and take no room in an object.
#include <haltpoll/core/breakeven.hpp>
#include <haltpoll/core/fixed.hpp>
#include <haltpoll/core/haltpoll.hpp>
#include <haltpoll/core/host.hpp>
#include <haltpoll/core/spec.hpp>

namespace haltpoll::wait {

/// core::haltpoll, the default: nothing is polled until a wait has blocked for less than
/// guest_halt_poll_ns (200 us), and no longer after three that were longer.
template <core::haltpoll::params P = core::haltpoll::params{}>
struct haltpoll_governor {
  static_assert(P.guest_halt_poll_ns <= core::spec::hard_cap_ns);
  static_assert(P.guest_halt_poll_grow_start <= P.guest_halt_poll_ns);
  using state = core::haltpoll::state;
  static core::decision select(state& s, const core::request& r) {
    return core::haltpoll::select(P, s, r);
  }
  static void reflect(state& s, const core::outcome& o) { core::haltpoll::reflect(P, s, o); }
};

/// core::host.
template <core::host::params P = core::host::params{}>
struct host_governor {
  static_assert(P.halt_poll_ns <= core::spec::hard_cap_ns);
  using state = core::host::state;
  static core::decision select(state& s, const core::request& r) {
    return core::host::select(P, s, r);
  }
  static void reflect(state& s, const core::outcome& o) { core::host::reflect(P, s, o); }
};

/// core::fixed: polls from the first wait on. A window of 0 never polls.
template <core::fixed::params P = core::fixed::params{}>
struct fixed_governor {
  static_assert(P.window_ns <= core::spec::hard_cap_ns);
  using state = core::fixed::state;
  static core::decision select(state& s, const core::request& r) {
    return core::fixed::select(P, s, r);
  }
  static void reflect(state& s, const core::outcome& o) { core::fixed::reflect(P, s, o); }
};

/// core::breakeven.
template <core::breakeven::params P = core::breakeven::params{}>
struct breakeven_governor {
  static_assert(core::breakeven::window(P) <= core::spec::hard_cap_ns);
  using state = core::breakeven::state;
  static core::decision select(state& s, const core::request& r) {
    return core::breakeven::select(P, s, r);
  }
  static void reflect(state& s, const core::outcome& o) { core::breakeven::reflect(P, s, o); }
};

}  // namespace haltpoll::wait
