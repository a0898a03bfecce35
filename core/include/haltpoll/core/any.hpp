#pragma once
// any: a governor chosen at run time, by name. For backends whose user names the governor (process,
// kernel, replay); code that knows its governor when it is compiled uses that namespace directly.
//
// Parameters and state of all governors stand side by side rather than in a union: the structs live
// in BPF maps and keep their default values, and the bytes a union would save matter to nobody.
#include "breakeven.hpp"
#include "fixed.hpp"
#include "governor.hpp"
#include "haltpoll.hpp"
#include "host.hpp"

namespace haltpoll::core::any {

enum class kind : u32 { haltpoll, host, fixed, breakeven };

struct params {
  kind which = kind::haltpoll;
  haltpoll::params haltpoll;
  host::params host;
  fixed::params fixed;
  breakeven::params breakeven;
};

struct state {
  haltpoll::state haltpoll;
  host::state host;
  fixed::state fixed;
  breakeven::state breakeven;
};

[[gnu::always_inline]] constexpr decision select(const params& p, state& s, const request& r) {
  switch (p.which) {
    case kind::haltpoll: return haltpoll::select(p.haltpoll, s.haltpoll, r);
    case kind::host: return host::select(p.host, s.host, r);
    case kind::fixed: return fixed::select(p.fixed, s.fixed, r);
    case kind::breakeven: return breakeven::select(p.breakeven, s.breakeven, r);
  }
  return {};
}

[[gnu::always_inline]] constexpr void reflect(const params& p, state& s, const outcome& o) {
  switch (p.which) {
    case kind::haltpoll: haltpoll::reflect(p.haltpoll, s.haltpoll, o); break;
    case kind::host: host::reflect(p.host, s.host, o); break;
    case kind::fixed: fixed::reflect(p.fixed, s.fixed, o); break;
    case kind::breakeven: breakeven::reflect(p.breakeven, s.breakeven, o); break;
  }
}

}  // namespace haltpoll::core::any
