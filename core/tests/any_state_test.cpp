#include <gtest/gtest.h>

#include <haltpoll/core/any.hpp>
#include <haltpoll/core/any_state.hpp>

#include "machines.hpp"

namespace haltpoll::core::any_state {
namespace {

params of(kind which) {
  params p;
  p.which = which;
  p.menu.table = server;
  p.teo.table = server;
  p.ladder.table = server;
  return p;
}

TEST(select, asks_the_chosen_governor) {
  const request r{.next_timer_ns = 30'000};
  state s;
  EXPECT_EQ(select(of(kind::menu), s, r).state, 2U);
  EXPECT_EQ(s.menu.asked_timer, 1U);
  EXPECT_EQ(s.teo.asked_timer, 0U);
  EXPECT_EQ(s.ladder.enabled, 0U);
  EXPECT_EQ(select(of(kind::teo), s, r).state, 2U);
  EXPECT_EQ(s.teo.asked_timer, 1U);
  EXPECT_EQ(select(of(kind::ladder), s, r).state, 1U);
  EXPECT_EQ(s.ladder.enabled, 1U);
}

TEST(reflect, tells_the_chosen_governor_and_no_other) {
  const outcome o{.state = 2, .block_ns = 60'000};
  state s;
  reflect(of(kind::menu), s, o);
  EXPECT_EQ(s.menu.residency_ns, 60'000U);
  EXPECT_EQ(s.teo.residency_ns, 0U);
  reflect(of(kind::teo), s, o);
  EXPECT_EQ(s.teo.residency_ns, 60'000U);
  EXPECT_EQ(s.ladder.residency_ns, 0U);
  reflect(of(kind::ladder), s, o);
  EXPECT_EQ(s.ladder.residency_ns, 60'000U);
}

TEST(select, default_is_menu_of_6_12) {
  const params p;
  EXPECT_EQ(p.which, kind::menu);
  EXPECT_EQ(p.menu.as_6_12, 1U);
  EXPECT_EQ(p.teo.as_6_12, 1U);
}

// Why they are not in `any`: its state is one per thread and per CPU.
static_assert(sizeof(state) > 8 * sizeof(any::state));

}  // namespace
}  // namespace haltpoll::core::any_state
