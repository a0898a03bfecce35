#pragma once
// any_state: a state governor (menu, teo, ladder) chosen at run time. For backends that own the
// idle loop of a whole CPU, or replay one (guest, replay).
//
// Not part of `any`: those backends need a table of idle states and a tick, which no thread and no
// BPF program at the door of the kernel's idle loop has; and with their histories the state of
// every polling thread would be ten times its size.
#include "governor.hpp"
#include "ladder.hpp"
#include "menu.hpp"
#include "teo.hpp"

namespace haltpoll::core::any_state {

enum class kind : u32 { menu, teo, ladder };

struct params {
  kind which = kind::menu;
  menu::params menu;
  teo::params teo;
  ladder::params ladder;
};

struct state {
  menu::state menu;
  teo::state teo;
  ladder::state ladder;
};

[[gnu::always_inline]] constexpr decision select(const params& p, state& s, const request& r) {
  switch (p.which) {
    case kind::menu: return menu::select(p.menu, s.menu, r);
    case kind::teo: return teo::select(p.teo, s.teo, r);
    case kind::ladder: return ladder::select(p.ladder, s.ladder, r);
  }
  return {};
}

[[gnu::always_inline]] constexpr void reflect(const params& p, state& s, const outcome& o) {
  switch (p.which) {
    case kind::menu: menu::reflect(p.menu, s.menu, o); break;
    case kind::teo: teo::reflect(p.teo, s.teo, o); break;
    case kind::ladder: ladder::reflect(p.ladder, s.ladder, o); break;
  }
}

}  // namespace haltpoll::core::any_state
