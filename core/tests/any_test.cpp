#include <gtest/gtest.h>

#include <haltpoll/core/any.hpp>

namespace haltpoll::core::any {
namespace {

params of(kind which) {
  params p;
  p.which = which;
  return p;
}

TEST(select, asks_the_chosen_governor) {
  state s;
  s.haltpoll.window_ns = 11'000;
  s.host.window_ns = 12'000;
  EXPECT_EQ(select(of(kind::haltpoll), s, {}).window_ns, 11'000U);
  EXPECT_EQ(select(of(kind::host), s, {}).window_ns, 12'000U);
  EXPECT_EQ(select(of(kind::fixed), s, {}).window_ns, fixed::params{}.window_ns);
  EXPECT_EQ(select(of(kind::breakeven), s, {}).window_ns, breakeven::window({}));
}

TEST(reflect, tells_the_chosen_governor_and_no_other) {
  const outcome o{.block_ns = 60'000};
  state s;
  reflect(of(kind::haltpoll), s, o);
  EXPECT_EQ(s.haltpoll.window_ns, 50'000U);
  EXPECT_EQ(s.host.window_ns, 0U);
  reflect(of(kind::host), s, o);
  EXPECT_EQ(s.haltpoll.window_ns, 50'000U);
  EXPECT_EQ(s.host.window_ns, 10'000U);
  const state before = s;
  reflect(of(kind::fixed), s, o);
  reflect(of(kind::breakeven), s, o);
  EXPECT_EQ(s.haltpoll.window_ns, before.haltpoll.window_ns);
  EXPECT_EQ(s.host.window_ns, before.host.window_ns);
}

TEST(select, default_is_the_guest_governor_of_6_12) {
  const params p;
  EXPECT_EQ(p.which, kind::haltpoll);
  EXPECT_EQ(p.haltpoll.zero_below_grow_start, 1U);
}

}  // namespace
}  // namespace haltpoll::core::any
