#include <gtest/gtest.h>

#include <haltpoll/core/menu.hpp>
#include <initializer_list>

#include "machines.hpp"

namespace haltpoll::core::menu {
namespace {

constexpr params as_6_12{.table = server};
constexpr params as_6_1{.table = server, .as_6_12 = 0};

/// A history of eight intervals, us; fewer leave zeros behind them.
state with_intervals(std::initializer_list<u32> us) {
  state s;
  u32 i = 0;
  for (const u32 v : us) s.intervals_us[i++] = v;
  s.to_learn = 0;
  return s;
}

/// Eight times the same interval, and a stay still to be learnt that brings it once more.
state with_steady(u32 us) {
  state s = with_intervals({us, us, us, us, us, us, us, us});
  s.to_learn = 1;
  s.last_state = 0;  // in the server no exit latency to be taken off
  s.residency_ns = 1'000ULL * us;
  s.next_timer_ns = static_cast<u64>(no_timer);
  s.bucket = 5;
  return s;
}

u32 typical(std::initializer_list<u32> us) {
  return typical_interval(as_6_12, with_intervals(us), 0);
}

TEST(typical_interval, of_eight_alike) {
  EXPECT_EQ(typical({100, 100, 100, 100, 100, 100, 100, 100}), 100U);
}

TEST(typical_interval, is_taken_up_to_a_standard_deviation_of_20_us) {
  EXPECT_EQ(typical({80, 120, 80, 120, 80, 120, 80, 120}), 100U);
}

TEST(typical_interval, is_taken_below_a_sixth_of_the_average) {
  EXPECT_EQ(typical({5'000, 7'000, 5'000, 7'000, 6'000, 6'000, 6'000, 6'000}), 6'000U);
  // 36 x variance equal to the square: not below. What is left is 5000 five times.
  EXPECT_EQ(typical({5'000, 7'000, 5'000, 7'000, 5'000, 7'000, 5'000, 7'000}), 5'000U);
}

TEST(typical_interval, leaves_out_the_largest_while_more_than_six_remain) {
  EXPECT_EQ(typical({100, 100, 100, 100, 5'000, 100, 100, 100}), 100U);
  EXPECT_EQ(typical({100, 9'000, 100, 100, 5'000, 100, 100, 100}), 100U);
  EXPECT_EQ(typical({100, 9'000, 100, 100, 5'000, 2'000, 100, 100}), unknown_us)
      << "six remain with 2000 among them";
}

TEST(typical_interval, all_of_the_largest_go_at_once) {
  EXPECT_EQ(typical({79, 121, 79, 121, 79, 121, 79, 121}), 79U);
}

TEST(typical_interval, five_or_fewer_must_be_within_20_us) {
  EXPECT_EQ(typical({1'000, 1'000, 1'050, 1'050, 1'025, 9'000, 9'000, 9'000}), unknown_us);
  EXPECT_EQ(typical({1'000, 1'000, 1'040, 1'040, 1'020, 9'000, 9'000, 9'000}), 1'020U);
  EXPECT_EQ(typical({1'000, 1'000, 1'050, 1'050, 1'025, 1'025, 9'000, 9'000}), 1'025U)
      << "six may be off by a sixth";
}

TEST(typical_interval, leaves_out_what_is_unknown_or_over_35_minutes) {
  EXPECT_EQ(typical({100, 100, unknown_us, unknown_us, unknown_us, unknown_us, unknown_us, 100}),
            100U);
  EXPECT_EQ(typical({100, 100, 0x8000'0000, 100, 100, 100, 100, 100}), 100U);
}

TEST(typical_interval, of_nothing_known_or_only_zeros_is_unknown_in_6_12) {
  EXPECT_EQ(typical({}), unknown_us);
  EXPECT_EQ(typical({unknown_us, unknown_us, unknown_us, unknown_us, unknown_us, unknown_us,
                     unknown_us, unknown_us}),
            unknown_us);
}

TEST(typical_interval, of_zeros_is_0_in_6_1_and_unknown_where_none_is_below_the_timer) {
  EXPECT_EQ(typical_interval(as_6_1, with_intervals({}), 1), 0U);
  EXPECT_EQ(typical_interval(as_6_1, with_intervals({}), 0), unknown_us);
  const state s = with_steady(100);
  EXPECT_EQ(typical_interval(as_6_1, s, 101), 100U);
  EXPECT_EQ(typical_interval(as_6_1, s, 100), unknown_us);
  state unknown;
  for (u32& v : unknown.intervals_us) v = unknown_us;
  EXPECT_EQ(typical_interval(as_6_1, unknown, unknown_us), unknown_us);
}

TEST(typical_interval, rounds_the_average_down) {
  EXPECT_EQ(typical({100, 100, 100, 100, 100, 100, 100, 107}), 100U);
  EXPECT_EQ(typical({100, 100, 100, 100, 100, 100, 100, 108}), 101U);
}

/// The factor after one stay; `timer_ns` to the timer, `measured_ns` of it passed.
u32 factor_after(u32 before, u64 timer_ns, u64 measured_ns) {
  state s;
  s.next_timer_ns = timer_ns;
  s.residency_ns = measured_ns;  // in state 0, which has no exit latency to be taken off
  s.factors[0] = before;
  learn(as_6_12, s);
  return s.factors[0];
}

TEST(learn, a_timer_that_woke_keeps_the_factor_at_unity) {
  EXPECT_EQ(factor_after(unity, 1'000'000, 1'000'000), unity);
  EXPECT_EQ(factor_after(unity, 1'000'000, 2'000'000), unity) << "never above";
}

TEST(learn, half_of_the_time_pulls_the_factor_down_by_a_sixteenth) {
  EXPECT_EQ(factor_after(unity, 1'000'000, 500'000), unity - 512);
}

TEST(learn, decays_by_an_eighth_rounded_towards_staying) {
  EXPECT_EQ(factor_after(unity, 1'000'000, 0), unity - 1024);
  EXPECT_EQ(factor_after(15, 1'000'000, 0), 14U);
  EXPECT_EQ(factor_after(7, 1'000'000, 0), 7U) << "never 0";
}

TEST(learn, stays_of_50_ms_count_as_full_and_so_do_timers_at_0) {
  EXPECT_EQ(factor_after(unity - 512, 1'000'000'000, 49'999'999), unity - 512 - 960 + 51);
  EXPECT_EQ(factor_after(unity - 512, 1'000'000'000, 50'000'000), unity - 512 - 960 + 1024);
  EXPECT_EQ(factor_after(unity - 512, 0, 100), unity - 512 - 960 + 1024);
}

/// The interval learnt from a stay in `last_state`, us.
u32 interval_after(u32 last_state, u64 residency_ns, bool timed_out, bool by_tick,
                   u64 timer_ns = 1'000'000'000) {
  state s;
  s.next_timer_ns = timer_ns;
  reflect(as_6_12, s,
          {.state = last_state,
           .timed_out = timed_out,
           .block_ns = residency_ns,
           .woken_by_tick = by_tick});
  learn(as_6_12, s);
  return s.intervals_us[0];
}

TEST(learn, the_exit_latency_does_not_count_or_half_of_short_stays_does) {
  EXPECT_EQ(interval_after(3, 266'001, false, false), 133U);
  EXPECT_EQ(interval_after(3, 300'000, false, false), 167U);
  EXPECT_EQ(interval_after(3, 266'000, false, false), 133U);
  EXPECT_EQ(interval_after(3, 100'000, false, false), 50U);
}

TEST(learn, a_tick_that_ended_a_long_wait_counts_as_45_ms) {
  EXPECT_EQ(interval_after(3, 4'000'000, false, true), 45'000U);
  EXPECT_EQ(interval_after(3, 4'000'000, false, true, 10'000'000), 10'000U) << "or the timer";
  EXPECT_EQ(interval_after(3, 3'000'000, false, true, 4'000'000), 2'867U) << "timer at the tick";
}

TEST(learn, a_poll_that_ran_out_might_have_slept_to_the_timer) {
  EXPECT_EQ(interval_after(0, 20'000, true, false), 1'000'000U);
  EXPECT_EQ(interval_after(1, 20'000, true, false), 18U) << "stale after a halt";
}

TEST(select, entering_refused_is_an_interval_unknown) {
  state s;
  select(as_6_12, s, {});
  EXPECT_EQ(s.intervals_us[0], unknown_us);
  reflect(as_6_12, s, {.state = 1, .block_ns = 5'000});
  select(as_6_12, s, {});
  EXPECT_EQ(s.intervals_us[1], 3U);
  for (int i = 0; i < 7; ++i) select(as_6_12, s, {});
  EXPECT_EQ(s.intervals_us[0], unknown_us);
  EXPECT_EQ(s.intervals_us[1], 3U) << "the ring is eight long";
  select(as_6_12, s, {});
  EXPECT_EQ(s.intervals_us[1], unknown_us);
}

TEST(bucket_of, is_by_magnitude) {
  EXPECT_EQ(bucket_of(0), 0U);
  EXPECT_EQ(bucket_of(9'999), 0U);
  EXPECT_EQ(bucket_of(10'000), 1U);
  EXPECT_EQ(bucket_of(100'000), 2U);
  EXPECT_EQ(bucket_of(1'000'000), 3U);
  EXPECT_EQ(bucket_of(10'000'000), 4U);
  EXPECT_EQ(bucket_of(99'999'999), 4U);
  EXPECT_EQ(bucket_of(100'000'000), 5U);
}

u32 timer_us(s64 next_timer_ns) {
  state s;
  outlook o;
  return predict_from_timer(s, {.next_timer_ns = next_timer_ns}, o, 0);
}

TEST(predict_from_timer, rounds_to_the_nearest_us) {
  EXPECT_EQ(timer_us(1'499), 1U);
  EXPECT_EQ(timer_us(1'500), 2U);
  EXPECT_EQ(timer_us(-5), 0U);
}

TEST(predict_from_timer, wraps_at_71_minutes) {
  EXPECT_EQ(timer_us(4'294'967'295'000), ~0U);
  EXPECT_EQ(timer_us(4'294'967'301'000), 5U);
}

TEST(select, fresh_6_12_goes_by_the_timer_and_fresh_6_1_predicts_0) {
  const request r{.next_timer_ns = 1'000'000, .next_event_ns = 1'000'000};
  state s;
  EXPECT_EQ(select(as_6_12, s, r).state, 3U);
  state other;
  const decision d = select(as_6_1, other, r);
  EXPECT_EQ(d.state, 0U);
  EXPECT_FALSE(d.stop_tick);
}

TEST(select, stops_the_tick_where_the_prediction_reaches_it) {
  state s;
  EXPECT_FALSE(select(as_6_12, s, {.next_timer_ns = 3'999'499}).stop_tick);
  EXPECT_TRUE(select(as_6_12, s, {.next_timer_ns = 3'999'500}).stop_tick) << "rounded to us";
}

TEST(select, takes_a_state_that_pays_before_the_tick_it_keeps) {
  state s;
  const request r{.next_timer_ns = 3'000'000, .next_event_ns = 599'999};
  EXPECT_EQ(select(as_6_12, s, r).state, 2U);
  EXPECT_EQ(select(as_6_12, s, {.next_timer_ns = 3'000'000, .next_event_ns = 600'000}).state, 3U);
}

TEST(select, latency_limit_0_takes_state_0_and_keeps_the_tick_only_for_a_poll) {
  state s;
  EXPECT_EQ(select(as_6_12, s, {.latency_limit_ns = 0}).state, 0U);
  EXPECT_FALSE(select(as_6_12, s, {.latency_limit_ns = 0}).stop_tick);
  EXPECT_TRUE(select({.table = telephone}, s, {.latency_limit_ns = 0}).stop_tick);
  EXPECT_EQ(select(as_6_12, s, {.latency_limit_ns = 0, .disabled = 1}).state, 0U)
      << "disabled or not";
}

TEST(select, state_1_too_slow_or_not_paying_before_the_timer_leaves_state_0) {
  state s;
  EXPECT_EQ(select(as_6_12, s, {.latency_limit_ns = 1'999}).state, 0U);
  EXPECT_EQ(select(as_6_12, s, {.next_timer_ns = 1'999}).state, 0U);
  EXPECT_EQ(select(as_6_12, s, {.latency_limit_ns = 1'999, .disabled = 1}).state, 1U)
      << "the shallowest enabled, although too slow";
}

TEST(select, the_latency_limit_ends_the_search) {
  state s;
  request r{.latency_limit_ns = 10'000, .next_timer_ns = 1'000'000};
  EXPECT_EQ(select(as_6_12, s, r).state, 2U);
  r.latency_limit_ns = 9'999;
  EXPECT_EQ(select(as_6_12, s, r).state, 1U);
}

TEST(select, does_not_ask_for_the_timer_where_intervals_are_15_us_or_less) {
  state s = with_steady(15);
  const request r{.next_timer_ns = 500, .next_event_ns = 500};
  EXPECT_EQ(select(as_6_12, s, r).state, 1U);
  EXPECT_EQ(s.asked_timer, 0U);
  EXPECT_EQ(s.bucket, 5U);
  EXPECT_EQ(s.next_timer_ns, static_cast<u64>(no_timer));
  s = with_steady(16);
  EXPECT_EQ(select(as_6_12, s, r).state, 0U) << "asked: the timer is 500 ns away";
  EXPECT_EQ(s.asked_timer, 1U);
  s = with_steady(15);
  select(as_6_12, s, {.next_timer_ns = 500, .tick_stopped = true});
  EXPECT_EQ(s.asked_timer, 1U) << "always with the tick stopped";
  s = with_steady(15);
  select(as_6_1, s, r);
  EXPECT_EQ(s.asked_timer, 1U) << "always in 6.1";
}

TEST(select, takes_a_state_that_pays_within_15_us_in_place_of_polling) {
  state s = with_steady(1);
  EXPECT_EQ(select(as_6_12, s, {}).state, 0U) << "its exit latency is above the prediction";
  params quick = as_6_12;
  quick.table.states[1] = {1'000, 14'999, 0};
  s = with_steady(1);
  EXPECT_EQ(select(quick, s, {}).state, 1U);
  quick.table.states[1].target_residency_ns = 15'000;
  s = with_steady(1);
  EXPECT_EQ(select(quick, s, {}).state, 0U);
}

TEST(select, as_6_1_takes_any_state_in_place_of_polling_that_the_tolerated_latency_allows) {
  params slow = as_6_1;
  slow.table.states[1] = {100'000, 500'000, 0};
  slow.table.states[2] = {100'000, 550'000, 0};
  state s = with_steady(100);
  EXPECT_EQ(select(slow, s, {.next_timer_ns = 1'000'000}).state, 1U);
  s = with_steady(99);
  EXPECT_EQ(select(slow, s, {.next_timer_ns = 1'000'000}).state, 0U);
}

TEST(select, as_6_1_tolerates_less_latency_the_more_tasks_wait_for_io) {
  // 1000 us / (1 + 10 x 9) is 10.99 us, / (1 + 10 x 10) is 9.9 us.
  state s = with_steady(1'000);
  EXPECT_EQ(select(as_6_1, s, {.next_timer_ns = 3'000'000, .iowaiters = 9}).state, 2U);
  s = with_steady(1'000);
  EXPECT_EQ(select(as_6_1, s, {.next_timer_ns = 3'000'000, .iowaiters = 10}).state, 1U);
  s = with_steady(1'000);
  EXPECT_EQ(select(as_6_12, s, {.next_timer_ns = 3'000'000, .iowaiters = 10}).state, 3U);
  s = with_steady(1'000);
  const request stopped{.next_timer_ns = 3'000'000, .tick_stopped = true, .iowaiters = 10};
  EXPECT_EQ(select(as_6_1, s, stopped).state, 3U) << "not with the tick stopped";
}

TEST(select, as_6_1_learns_apart_with_tasks_that_wait_for_io) {
  state s;
  select(as_6_1, s, {.next_timer_ns = 50'000, .iowaiters = 1});
  EXPECT_EQ(s.bucket, buckets + 1);
  select(as_6_1, s, {.next_timer_ns = no_timer, .iowaiters = 1});
  EXPECT_EQ(s.bucket, buckets + 5);
  select(as_6_12, s, {.next_timer_ns = 50'000, .iowaiters = 1});
  EXPECT_EQ(s.bucket, 1U);
}

TEST(select, with_the_tick_stopped_goes_by_the_timer_rather_than_a_guess) {
  state s = with_steady(30);
  const request r{.next_timer_ns = 2'000'000, .next_event_ns = 2'000'000, .tick_stopped = true};
  const decision d = select(as_6_12, s, r);
  EXPECT_EQ(d.state, 3U);
  EXPECT_TRUE(d.stop_tick);
}

TEST(select, is_not_stuck_in_a_shallow_state_without_a_tick) {
  const params p{.table = telephone};
  state s = with_steady(5'000);  // past the tick, so the guess counts
  request r{.next_timer_ns = 30'000'000, .next_event_ns = 30'000'000, .tick_stopped = true};
  EXPECT_EQ(select(p, s, r).state, 2U);
  r.next_event_ns = 19'999'999;
  s = with_steady(5'000);
  EXPECT_EQ(select(p, s, r).state, 1U) << "the deeper one would not pay";
  r.tick_stopped = false;
  s = with_steady(5'000);
  const decision d = select(p, s, r);
  EXPECT_EQ(d.state, 1U);
  EXPECT_FALSE(d.stop_tick) << "the tick runs on and lets us look again";
}

TEST(select, with_every_state_disabled_takes_state_0) {
  state s;
  EXPECT_EQ(select(as_6_12, s, {.disabled = never}).state, 0U);
  EXPECT_EQ(select({.table = {1, {{1'000, 1'000, 0}}}}, s, {}).state, 0U) << "or the only one";
}

TEST(select, reaches_the_tenth_state) {
  state s;
  EXPECT_EQ(select({.table = ten}, s, {.next_timer_ns = 512'000}).state, 9U);
  EXPECT_EQ(select({.table = ten}, s, {.next_timer_ns = 511'000}).state, 8U);
}

static_assert([] {
  state s;
  return select(as_6_12, s, {.next_timer_ns = 1'000'000, .next_event_ns = 1'000'000}).state;
}() == 3);  // usable when compiling

}  // namespace
}  // namespace haltpoll::core::menu
