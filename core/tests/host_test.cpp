#include <gtest/gtest.h>

#include <haltpoll/core/host.hpp>

namespace haltpoll::core::host {
namespace {

constexpr params defaults_6_1{.halt_poll_ns_shrink = 0};

u64 window_after(const params& p, u64 window_ns, u64 halt_ns) {
  state s{.window_ns = window_ns};
  reflect(p, s, {.block_ns = halt_ns});
  return s.window_ns;
}

TEST(select, halts_with_window_0) {
  state s;
  const decision d = select({}, s, {});
  EXPECT_EQ(d.state, halt_state);
  EXPECT_EQ(d.window_ns, 0U);
}

TEST(select, cuts_the_window_to_the_maximum_only_now) {
  state s{.window_ns = 640'000};
  EXPECT_EQ(select({}, s, {}).window_ns, 200'000U);
  EXPECT_EQ(s.window_ns, 200'000U);
}

TEST(select, refused_polling_halts_yet_the_cut_applies) {
  state s{.window_ns = 640'000};
  EXPECT_EQ(select({.polling_refused = 1}, s, {}).state, halt_state);
  EXPECT_EQ(s.window_ns, 200'000U);
}

TEST(select, the_vm_cap_takes_the_place_of_the_module_parameter) {
  state s{.window_ns = 400'000};
  EXPECT_EQ(select({.vm_cap_ns = 300'000, .has_vm_cap = 1}, s, {}).window_ns, 300'000U);
  EXPECT_EQ(select({.vm_cap_ns = 0, .has_vm_cap = 1}, s, {}).state, halt_state)
      << "a cap of 0 is a cap";
}

TEST(reflect, judges_the_halt_including_the_poll) {
  state s{.window_ns = 100'000};
  reflect({}, s, {.polled_ns = 100'000, .block_ns = 50'000});
  EXPECT_EQ(s.window_ns, 200'000U) << "150 us, above the window";
  reflect({}, s, {.polled_ns = 200'000, .block_ns = 1});
  EXPECT_EQ(s.window_ns, 100'000U) << "200001 ns, above the maximum";
}

TEST(reflect, bounds_are_strict) {
  EXPECT_EQ(window_after({}, 20'000, 20'000), 20'000U);
  EXPECT_EQ(window_after({}, 20'000, 20'001), 40'000U);
  EXPECT_EQ(window_after({}, 20'000, 199'999), 40'000U);
  EXPECT_EQ(window_after({}, 20'000, 200'000), 20'000U) << "exactly the maximum does nothing";
  EXPECT_EQ(window_after({}, 20'000, 200'001), 10'000U);
}

TEST(reflect, growth_is_not_capped_at_the_maximum) {
  EXPECT_EQ(window_after({.halt_poll_ns_grow = 4}, 160'000, 199'000), 640'000U);
}

TEST(reflect, growth_is_32_bits_wide) {
  const params p{
      .halt_poll_ns = 0xffff'ffffU, .halt_poll_ns_grow = 3, .halt_poll_ns_grow_start = 1};
  EXPECT_EQ(window_after(p, 2'000'000'000, 3'000'000'000), 1'705'032'704U);
}

TEST(reflect, a_window_of_0_grows_to_the_floor_and_never_shrinks) {
  EXPECT_EQ(window_after({}, 0, 1), 10'000U);
  EXPECT_EQ(window_after({}, 0, 200'001), 0U);
  state s;
  EXPECT_EQ(adjust({}, s, 200'001, false), 0) << "no trace point either";
}

TEST(reflect, grow_0_never_grows_yet_fires_the_trace_point) {
  const params p{.halt_poll_ns_grow = 0};
  state s;
  EXPECT_EQ(adjust(p, s, 1, false), 1);
  EXPECT_EQ(s.window_ns, 0U);
}

TEST(reflect, shrinking_below_the_floor_is_0_and_shrink_0_drops_at_once) {
  EXPECT_EQ(window_after({}, 19'999, never), 0U);
  EXPECT_EQ(window_after({}, 20'000, never), 10'000U);
  EXPECT_EQ(window_after(defaults_6_1, 200'000, 200'001), 0U);
}

TEST(reflect, a_maximum_of_0_forces_0) {
  EXPECT_EQ(window_after({.halt_poll_ns = 0}, 50'000, 10), 0U);
}

TEST(reflect, an_invalid_wake_up_shrinks_whatever_the_time) {
  state s{.window_ns = 40'000};
  reflect({}, s, {.spurious = true, .block_ns = 1});
  EXPECT_EQ(s.window_ns, 20'000U);
  state empty;
  EXPECT_EQ(adjust({}, empty, 1, true), -1);
  state no_polling{.window_ns = 40'000};
  reflect({.halt_poll_ns = 0}, no_polling, {.spurious = true});
  EXPECT_EQ(no_polling.window_ns, 20'000U) << "before the maximum is looked at";
}

TEST(reflect, refused_polling_freezes_the_window) {
  const params p{.polling_refused = 1};
  EXPECT_EQ(window_after(p, 40'000, 1'000'000), 40'000U);
  EXPECT_EQ(window_after(p, 40'000, 50'000), 40'000U);
}

}  // namespace
}  // namespace haltpoll::core::host
