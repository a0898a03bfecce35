#include <gtest/gtest.h>

#include <haltpoll/core/teo.hpp>
#include <initializer_list>

#include "machines.hpp"

namespace haltpoll::core::teo {
namespace {

constexpr s64 ms = 1'000'000;
constexpr params as_6_12{.table = server};
constexpr params as_6_1{.table = server, .as_6_12 = 0};

/// Nothing to be learnt yet.
state idle() {
  state s;
  s.last_state = no_state;
  return s;
}

/// Hits and intercepts of the bins from state 0 on; `total` is their sum, as after a period.
struct hits_and_intercepts {
  u32 hits;
  u32 intercepts;
};
state with_counts(std::initializer_list<hits_and_intercepts> counts) {
  state s = idle();
  u32 i = 0;
  for (const auto& c : counts) {
    s.bins[i].hits = c.hits;
    s.bins[i++].intercepts = c.intercepts;
    s.total += c.hits + c.intercepts;
  }
  return s;
}

/// A stay in state 1 (exit latency 2 us) with the timer at `sleep_ns`, learnt.
state learnt(const params& p, s64 sleep_ns, u64 residency_ns, s64 span_ns) {
  state s = idle();
  s.sleep_ns = sleep_ns;
  reflect(p, s, {.state = 1, .block_ns = residency_ns, .span_ns = span_ns});
  learn(p, s);
  return s;
}

TEST(learn, a_period_in_the_bin_of_the_timer_is_a_hit) {
  const state s = learnt(as_6_1, 100'000, 90'000, 91'000);
  EXPECT_EQ(s.bins[2].hits, pulse);
  EXPECT_EQ(s.bins[2].intercepts, 0U);
  EXPECT_EQ(s.total, pulse);
}

TEST(learn, a_shorter_one_is_an_intercept_of_its_own_bin) {
  const state s = learnt(as_6_1, 700'000, 90'000, 91'000);
  EXPECT_EQ(s.bins[3].hits, 0U);
  EXPECT_EQ(s.bins[2].intercepts, pulse);
}

TEST(learn, half_the_exit_latency_is_taken_off_the_stay) {
  EXPECT_EQ(learnt(as_6_1, ms, 20'999, 21'000).bins[1].intercepts, pulse);
  EXPECT_EQ(learnt(as_6_1, ms, 21'000, 21'000).bins[2].intercepts, pulse);
  EXPECT_EQ(learnt(as_6_1, ms, 1'999, 1'999).bins[0].intercepts, pulse) << "or half the stay";
  EXPECT_EQ(learnt(as_6_1, ms, 3'000, 3'000).bins[1].intercepts, pulse);
}

TEST(learn, a_period_as_long_as_the_timer_said_is_a_hit_whatever_the_stay) {
  EXPECT_EQ(learnt(as_6_1, 700'000, 1, 700'000).bins[3].hits, pulse);
  EXPECT_EQ(learnt(as_6_1, 700'000, 1, 699'999).bins[0].intercepts, pulse);
}

TEST(learn, counts_decay_by_an_eighth_rounded_towards_staying) {
  state s = with_counts({{15, 16}, {7, 8}});
  s.sleep_ns = 700'000;
  s.span_ns = 700'000;
  learn(as_6_1, s);
  EXPECT_EQ(s.bins[0].hits, 14U);
  EXPECT_EQ(s.bins[0].intercepts, 14U);
  EXPECT_EQ(s.bins[1].hits, 7U);
  EXPECT_EQ(s.bins[1].intercepts, 7U);
  EXPECT_EQ(s.total, 42U + pulse);
}

TEST(learn, as_6_12_counts_hits_beyond_the_tick_apart_where_no_state_reaches_it) {
  const state hit = learnt(as_6_12, 5 * ms, 5 * ms, 5 * ms);
  EXPECT_EQ(hit.tick_hits, pulse);
  EXPECT_EQ(hit.bins[3].hits, 0U);
  EXPECT_EQ(hit.total, pulse);
  const state early = learnt(as_6_12, 5 * ms, 3 * ms, 3 * ms);
  EXPECT_EQ(early.tick_hits, 0U);
  EXPECT_EQ(early.bins[3].intercepts, pulse) << "the bin of the timer ended at the tick";
  const state before = learnt(as_6_12, 4 * ms - 1, 3 * ms, 3 * ms);
  EXPECT_EQ(before.bins[3].hits, pulse);
  EXPECT_EQ(learnt(as_6_1, 5 * ms, 5 * ms, 5 * ms).bins[3].hits, pulse);
  const params deep{.table = telephone};
  EXPECT_EQ(learnt(deep, 5 * ms, 5 * ms, 5 * ms).bins[1].hits, pulse);
}

TEST(learn, as_6_12_the_hits_beyond_the_tick_decay_too) {
  state s = idle();
  s.tick_hits = 16;
  s.sleep_ns = ms;
  s.span_ns = ms;
  learn(as_6_12, s);
  EXPECT_EQ(s.tick_hits, 14U);
  EXPECT_EQ(s.total, 14U + pulse);
}

TEST(learn, as_6_1_remembers_the_intercepts_of_nine_periods) {
  state s = idle();
  const auto period = [&s](bool intercepted) {
    s.last_state = 0;
    s.sleep_ns = 700'000;
    s.span_ns = intercepted ? 5'000 : 700'000;
    s.residency_ns = 5'000;
    learn(as_6_1, s);
  };
  for (int i = 0; i < 4; ++i) period(true);
  EXPECT_EQ(s.bins[1].recent, 4U);
  for (int i = 0; i < 5; ++i) period(false);
  EXPECT_EQ(s.bins[1].recent, 4U) << "the first is the ninth before the next";
  period(false);
  EXPECT_EQ(s.bins[1].recent, 3U);
  for (int i = 0; i < 20; ++i) period(true);
  EXPECT_EQ(s.bins[1].recent, recent_periods);
}

TEST(reflect, a_safety_net_makes_the_period_as_long_as_the_timer_said) {
  state s = idle();
  s.sleep_ns = 5 * ms;
  reflect(as_6_12, s, {.state = 0, .timed_out = true, .polled_ns = 10, .span_ns = 20});
  EXPECT_EQ(s.span_ns, 5 * ms);
  reflect(as_6_12, s, {.state = 1, .block_ns = 10, .span_ns = 20, .woken_by_tick = true});
  EXPECT_EQ(s.span_ns, 5 * ms);
  s.sleep_ns = 4 * ms;
  reflect(as_6_12, s, {.state = 1, .block_ns = 10, .span_ns = 20, .woken_by_tick = true});
  EXPECT_EQ(s.span_ns, 20) << "the timer was no later than the tick";
}

TEST(select, the_first_one_learns_from_a_device_that_was_never_idle) {
  state s;
  select(as_6_12, s, {.next_timer_ns = ms});
  EXPECT_EQ(s.total, pulse);
  EXPECT_EQ(s.bins[0].hits, pulse);
}

TEST(select, learns_nothing_where_entering_was_refused) {
  state s;
  select(as_6_12, s, {.next_timer_ns = ms});
  select(as_6_12, s, {.next_timer_ns = ms});
  EXPECT_EQ(s.total, pulse);
}

/// Both versions, where they decide alike.
class both : public testing::TestWithParam<u32> {
 protected:
  params of(const state_table& t) const { return {.table = t, .as_6_12 = GetParam()}; }
};
INSTANTIATE_TEST_SUITE_P(versions, both, testing::Values(0, 1));

TEST_P(both, takes_the_deepest_state_that_pays_before_the_timer) {
  state s = idle();
  EXPECT_EQ(select(of(server), s, {.next_timer_ns = 600'000}).state, 3U);
  EXPECT_EQ(select(of(server), s, {.next_timer_ns = 599'999}).state, 2U);
  EXPECT_EQ(select(of(server), s, {.next_timer_ns = 19'999}).state, 1U);
}

TEST_P(both, stops_the_tick_where_the_timer_is_a_tick_away) {
  state s = idle();
  EXPECT_TRUE(select(of(server), s, {.next_timer_ns = 4 * ms}).stop_tick);
  EXPECT_FALSE(select(of(server), s, {.next_timer_ns = 4 * ms - 1}).stop_tick);
  EXPECT_TRUE(select(of(server), s, {.next_timer_ns = ms, .tick_stopped = true}).stop_tick);
}

TEST_P(both, takes_a_state_that_pays_before_the_tick_it_keeps) {
  state s = idle();
  const request r{.next_timer_ns = ms, .next_event_ns = 599'999};
  EXPECT_EQ(select(of(server), s, r).state, 2U);
}

TEST_P(both, most_intercepts_lead_to_a_shallower_state) {
  state s = with_counts({{0, 0}, {0, 100}, {0, 400}, {499, 0}});
  EXPECT_EQ(select(of(server), s, {.next_timer_ns = 5 * ms}).state, 2U);
  s = with_counts({{0, 0}, {0, 100}, {0, 400}, {500, 0}});
  EXPECT_EQ(select(of(server), s, {.next_timer_ns = 5 * ms}).state, 3U) << "no majority";
}

TEST_P(both, goes_where_over_half_of_the_intercepts_reached) {
  state s = with_counts({{0, 0}, {0, 500}, {0, 500}, {0, 0}});
  EXPECT_EQ(select(of(server), s, {.next_timer_ns = 5 * ms}).state, 1U) << "half is not over half";
  s = with_counts({{0, 0}, {0, 500}, {0, 501}, {0, 0}});
  EXPECT_EQ(select(of(server), s, {.next_timer_ns = 5 * ms}).state, 2U);
}

TEST_P(both, a_disabled_alternative_leaves_the_one_before_it_on_the_way) {
  state s = with_counts({{0, 0}, {0, 600}, {0, 100}, {0, 0}});
  const request r{.next_timer_ns = 5 * ms, .disabled = 0b0010};
  EXPECT_EQ(select(of(server), s, r).state, 2U);
}

TEST_P(both, with_the_tick_stopped_no_alternative_is_shallower_than_it) {
  const params p = of(telephone);
  state s = with_counts({{0, 600}, {0, 0}, {0, 0}});
  const request r{.next_timer_ns = 30 * ms, .tick_stopped = true};
  EXPECT_EQ(select(p, s, r).state, p.as_6_12 != 0 ? 2U : 1U)
      << "6.1 goes by the middles of bins: state 1 ends at 11 ms";
  s = with_counts({{0, 600}, {0, 0}, {0, 0}});
  EXPECT_EQ(select(p, s, {.next_timer_ns = 30 * ms}).state, 0U);
}

TEST_P(both, the_latency_limit_caps_the_state_and_state_0_is_below_all) {
  state s = idle();
  request r{.latency_limit_ns = 10'000, .next_timer_ns = 5 * ms};
  EXPECT_EQ(select(of(server), s, r).state, 2U);
  r.latency_limit_ns = 9'999;
  EXPECT_EQ(select(of(server), s, r).state, 1U);
  r.latency_limit_ns = 1'999;
  EXPECT_EQ(select(of(server), s, r).state, 0U);
  r.disabled = 1;
  EXPECT_EQ(select(of(server), s, r).state, 0U) << "even disabled";
}

TEST_P(both, with_every_state_disabled_takes_state_0) {
  state s = idle();
  EXPECT_EQ(select(of(server), s, {.disabled = never}).state, 0U);
}

TEST_P(both, the_only_enabled_state_is_taken) {
  state s = idle();
  EXPECT_EQ(select(of(server), s, {.next_timer_ns = 1'000, .disabled = 0b0111}).state, 3U);
}

TEST_P(both, reaches_the_tenth_state) {
  state s = idle();
  EXPECT_EQ(select(of(ten), s, {.next_timer_ns = 512'000}).state, 9U);
  EXPECT_EQ(select(of(ten), s, {.next_timer_ns = 511'999}).state, 8U);
}

TEST(select, a_table_of_one_state_stops_the_tick_in_6_1_only) {
  const state_table one{1, {{1'000, 1'000, 0}}};
  state s = idle();
  EXPECT_FALSE(select({.table = one}, s, {}).stop_tick);
  EXPECT_TRUE(select({.table = one, .as_6_12 = 0}, s, {}).stop_tick);
}

TEST(select, as_6_1_five_recent_intercepts_of_nine_suffice) {
  state s = with_counts({{0, 0}, {0, 0}, {0, 0}, {9'000, 0}});
  s.bins[1].recent = 4;
  EXPECT_EQ(select(as_6_1, s, {.next_timer_ns = 5 * ms}).state, 3U);
  s.bins[1].recent = 5;
  EXPECT_EQ(select(as_6_1, s, {.next_timer_ns = 5 * ms}).state, 1U);
  EXPECT_EQ(select(as_6_12, s, {.next_timer_ns = 5 * ms}).state, 3U) << "not in 6.12";
}

TEST(select, as_6_1_an_alternative_must_be_reached_by_both_counts) {
  state s = with_counts({{0, 0}, {0, 0}, {0, 600}, {0, 0}});
  s.bins[1].recent = 5;
  EXPECT_EQ(select(as_6_1, s, {.next_timer_ns = 5 * ms}).state, 1U);
}

TEST(select, as_6_1_takes_the_middle_of_the_bin_for_the_expected_duration) {
  // State 1 of the telephone reaches from 2 to 20 ms: 11 ms is past the tick, so it may stop.
  state s = with_counts({{0, 0}, {0, 600}, {0, 0}});
  EXPECT_TRUE(select({.table = telephone, .as_6_12 = 0}, s, {.next_timer_ns = 30 * ms}).stop_tick);
  s = with_counts({{0, 600}, {0, 0}, {0, 0}});
  EXPECT_FALSE(select({.table = telephone, .as_6_12 = 0}, s, {.next_timer_ns = 30 * ms}).stop_tick);
}

TEST(select, as_6_12_does_not_ask_for_the_timer_where_a_state_beside_polling_pays_within_15_us) {
  state s = with_counts({{0, 0}, {0, 600}, {0, 0}, {0, 0}});
  const decision d = select(as_6_12, s, {.next_timer_ns = 5 * ms});
  EXPECT_EQ(d.state, 1U);
  EXPECT_FALSE(d.stop_tick);
  EXPECT_EQ(s.asked_timer, 0U);
  EXPECT_EQ(s.sleep_ns, no_timer);
  s = with_counts({{0, 0}, {0, 0}, {0, 600}, {0, 0}});
  select(as_6_12, s, {.next_timer_ns = 5 * ms});
  EXPECT_EQ(s.asked_timer, 1U);
  EXPECT_EQ(s.sleep_ns, 5 * ms);
}

TEST(select, as_6_12_asks_where_intercepts_lead_to_state_0_and_not_where_the_latency_limit_does) {
  state s = with_counts({{0, 600}, {0, 0}, {0, 0}, {0, 0}});
  EXPECT_EQ(select(as_6_12, s, {.next_timer_ns = 5 * ms}).state, 0U);
  EXPECT_EQ(s.asked_timer, 1U);
  EXPECT_EQ(s.sleep_ns, 5 * ms);
  s = idle();
  EXPECT_EQ(select(as_6_12, s, {.latency_limit_ns = 1, .next_timer_ns = 5 * ms}).state, 0U);
  EXPECT_EQ(s.asked_timer, 0U);
  EXPECT_EQ(s.sleep_ns, no_timer);
}

TEST(select, as_6_12_takes_a_shallower_state_before_the_timer_even_with_the_tick_stopped) {
  state s = idle();
  const request r{.next_timer_ns = 30'000, .tick_stopped = true};
  const decision d = select(as_6_12, s, r);
  EXPECT_EQ(d.state, 2U);
  EXPECT_TRUE(d.stop_tick);
}

TEST(select, as_6_12_keeps_the_tick_where_over_five_eighths_are_intercepts_before_it) {
  state s = with_counts({{0, 0}, {0, 0}, {0, 0}, {0, 626}});
  s.tick_hits = 374;
  s.total = 1'000;
  EXPECT_FALSE(select(as_6_12, s, {.next_timer_ns = 30 * ms}).stop_tick);
  s = with_counts({{0, 0}, {0, 0}, {0, 0}, {0, 625}});
  s.tick_hits = 375;
  s.total = 1'000;
  EXPECT_TRUE(select(as_6_12, s, {.next_timer_ns = 30 * ms}).stop_tick);
}

TEST(select, as_6_12_the_only_enabled_state_stops_the_tick_where_it_pays_past_it) {
  const params p{.table = telephone};
  state s = idle();
  EXPECT_TRUE(select(p, s, {.next_timer_ns = 1, .disabled = 0b011}).stop_tick);
  EXPECT_FALSE(select(p, s, {.next_timer_ns = 30 * ms, .disabled = 0b101}).stop_tick);
}

TEST(select, an_overdue_timer_leaves_state_0) {
  state s = idle();
  EXPECT_EQ(select(as_6_1, s, {.next_timer_ns = -1, .next_event_ns = -1}).state, 0U);
  EXPECT_EQ(select(as_6_12, s, {.next_timer_ns = -1, .next_event_ns = -1}).state, 0U);
}

static_assert([] {
  state s;
  return select(as_6_12, s, {.next_timer_ns = 1'000'000}).state;
}() == 3);  // usable when compiling

}  // namespace
}  // namespace haltpoll::core::teo
