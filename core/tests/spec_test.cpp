#include <gtest/gtest.h>

#include <haltpoll/core/spec.hpp>
#include <memory>
#include <string>

namespace haltpoll::core::spec {
namespace {

std::string formatted(const any::params& p) {
  char buffer[max_length];
  line out{buffer, sizeof buffer};
  format(p, out);
  return {buffer, out.size};
}

std::string described(const result& r) {
  char buffer[max_length];
  line out{buffer, sizeof buffer};
  describe(r, out);
  return {buffer, out.size};
}

std::string refusal(const char* text) { return described(parse(text)); }

/// Parses a copy that ends where the text ends, so that a sanitizer sees a read past it.
result parse_exactly(const std::string& s) {
  const std::unique_ptr<char[]> copy(new char[s.size()]);
  s.copy(copy.get(), s.size());
  result r = parse(text{copy.get(), static_cast<u32>(s.size())});
  r.word = r.key = {};  // they pointed into the copy
  return r;
}

TEST(parse, a_name_alone_keeps_the_defaults) {
  for (const name& n : names) {
    const result r = parse(n.text);
    EXPECT_EQ(r.code, error::none) << n.text;
    EXPECT_EQ(r.params.which, n.governor);
    any::params defaults;
    defaults.which = n.governor;
    EXPECT_EQ(formatted(r.params), formatted(defaults));
  }
}

TEST(parse, every_key_takes_its_largest_value_and_nothing_above) {
  for (const key& k : keys) {
    const std::string before = std::string(name_of(k.governor)) + ":" + k.name + "=";
    const result most = parse((before + std::to_string(k.max)).c_str());
    // Some largest values make no sense beside the defaults, which is checked after the range.
    EXPECT_NE(most.code, error::not_a_number) << before;
    EXPECT_EQ(k.get(most.params), k.max) << before;
    const result above = parse((before + std::to_string(k.max + 1)).c_str());
    EXPECT_EQ(above.code, error::out_of_range) << before;
    EXPECT_EQ(above.limit, k.max) << before;
    EXPECT_EQ(k.get(above.params), k.get(any::params{})) << before << ": not taken, not clamped";
  }
}

TEST(parse, keys_are_the_kernels_names) {
  const result r = parse(
      "haltpoll:guest_halt_poll_ns=300000,guest_halt_poll_grow=3,guest_halt_poll_grow_start=20000,"
      "guest_halt_poll_shrink=4,guest_halt_poll_allow_shrink=0");
  ASSERT_EQ(r.code, error::none);
  EXPECT_EQ(r.params.haltpoll.guest_halt_poll_ns, 300'000U);
  EXPECT_EQ(r.params.haltpoll.guest_halt_poll_grow, 3U);
  EXPECT_EQ(r.params.haltpoll.guest_halt_poll_grow_start, 20'000U);
  EXPECT_EQ(r.params.haltpoll.guest_halt_poll_shrink, 4U);
  EXPECT_EQ(r.params.haltpoll.guest_halt_poll_allow_shrink, 0U);
}

TEST(format, comes_back_through_parse) {
  for (const char* s : {"haltpoll:guest_halt_poll_ns=77777,guest_halt_poll_shrink=9", "host",
                        "fixed:window_ns=1", "breakeven:wake_ns=5000,latency_price=16"}) {
    const result first = parse(s);
    ASSERT_EQ(first.code, error::none) << s;
    const std::string once = formatted(first.params);
    const result second = parse(once.c_str());
    ASSERT_EQ(second.code, error::none) << once;
    EXPECT_EQ(formatted(second.params), once);
  }
  EXPECT_EQ(formatted(parse("fixed:window_ns=1").params), "fixed:window_ns=1");
}

TEST(format, the_longest_text_is_below_half_of_the_limit) {
  for (const name& n : names) {
    any::params p;
    p.which = n.governor;
    for (const key& k : keys) k.set(p, k.max);
    EXPECT_LT(formatted(p).size(), max_length / 2) << n.text;
  }
}

TEST(format, cuts_where_the_buffer_ends_and_terminates) {
  char small[8] = {'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x'};
  line out{small, 5};
  format({}, out);
  EXPECT_STREQ(small, "halt");
  EXPECT_EQ(small[5], 'x');
}

TEST(parse, refuses_what_is_no_number) {
  for (const char* value : {"", "-1", "+1", " 1", "1 ", "0x10", "1e3", "1.5", "1_000", "50us"}) {
    const result r = parse((std::string("fixed:window_ns=") + value).c_str());
    EXPECT_EQ(r.code, error::not_a_number) << value;
  }
  EXPECT_EQ(refusal("fixed:window_ns=-1"), "window_ns \"-1\" is not a whole number of 0 or more");
}

TEST(parse, a_number_that_does_not_fit_is_above_the_limit_not_wrapped) {
  EXPECT_EQ(refusal("fixed:window_ns=18446744073709551616"),
            "window_ns 18446744073709551616 is above the limit 1000000");
  EXPECT_EQ(parse("haltpoll:guest_halt_poll_grow=4294967296").code, error::out_of_range);
}

TEST(number, overflow_is_noticed_at_the_last_digit) {
  u64 v = 5;
  EXPECT_TRUE(number(length_of("18446744073709551615"), v));
  EXPECT_EQ(v, never);
  v = 5;
  EXPECT_FALSE(number(length_of("18446744073709551616"), v));
  EXPECT_FALSE(number(length_of("184467440737095516150"), v));
  EXPECT_FALSE(number(length_of(""), v));
  EXPECT_EQ(v, 5U) << "left alone";
  EXPECT_TRUE(number(length_of("0000000000000000000000000000001"), v));
  EXPECT_EQ(v, 1U);
}

TEST(parse, names_what_it_does_not_know) {
  EXPECT_EQ(refusal("halt"),
            "unknown governor \"halt\"; there are haltpoll, host, fixed, breakeven");
  EXPECT_EQ(refusal(""), "unknown governor \"\"; there are haltpoll, host, fixed, breakeven");
  EXPECT_EQ(refusal("fixed:window=1"), "unknown key \"window\" for fixed; it takes window_ns");
  EXPECT_EQ(parse("fixed:guest_halt_poll_ns=1").code, error::unknown_key) << "another governor's";
  EXPECT_EQ(parse("fixed:").code, error::unknown_key);
  EXPECT_EQ(parse("fixed:window_ns=1,").code, error::unknown_key);
  EXPECT_EQ(refusal("fixed:window_ns"), "window_ns has no value; write window_ns=NUMBER");
  EXPECT_EQ(refusal("fixed:window_ns=1,window_ns=1"), "window_ns is given twice");
}

TEST(parse, prefixes_and_extensions_of_a_name_are_other_names) {
  EXPECT_EQ(parse("haltpol").code, error::unknown_governor);
  EXPECT_EQ(parse("haltpoll2").code, error::unknown_governor);
  EXPECT_EQ(parse("HALTPOLL").code, error::unknown_governor);
  EXPECT_EQ(parse("haltpoll ").code, error::unknown_governor);
}

// SAP/arp142-hana recommended this for years, and nothing rejected it.
TEST(parse, a_grow_start_above_the_maximum_is_refused_with_both_values) {
  EXPECT_EQ(refusal("haltpoll:guest_halt_poll_ns=240000,guest_halt_poll_grow_start=2400000"),
            "guest_halt_poll_grow_start 2400000 is above guest_halt_poll_ns 240000");
  EXPECT_EQ(refusal("haltpoll:guest_halt_poll_grow_start=24000000"),
            "guest_halt_poll_grow_start 24000000 is above guest_halt_poll_ns 200000");
  EXPECT_EQ(refusal("host:halt_poll_ns=5000"),
            "halt_poll_ns_grow_start 10000 is above halt_poll_ns 5000");
  EXPECT_STRNE(hint(error::start_above_max), "");
}

TEST(parse, grow_start_equal_to_the_maximum_or_a_maximum_of_0_is_meant) {
  EXPECT_EQ(parse("haltpoll:guest_halt_poll_ns=50000").code, error::none);
  EXPECT_EQ(parse("haltpoll:guest_halt_poll_ns=0").code, error::none);
}

TEST(parse, breakevens_window_is_capped_as_a_product) {
  EXPECT_EQ(parse("breakeven:wake_ns=62500,latency_price=16").code, error::none);
  EXPECT_EQ(refusal("breakeven:wake_ns=62501,latency_price=16"),
            "wake_ns * latency_price 1000016 is above the limit 1000000");
}

TEST(parse, takes_the_longest_text_and_refuses_one_more) {
  const std::string start = "fixed:window_ns=";
  const std::string longest = start + std::string(max_length - start.size() - 1, '0') + "7";
  const result r = parse(longest.c_str());
  ASSERT_EQ(r.code, error::none);
  EXPECT_EQ(r.params.fixed.window_ns, 7U);
  EXPECT_EQ(refusal((longest + "0").c_str()), "the text is longer than 512 characters");
  EXPECT_EQ(parse(std::string(100'000, 'x').c_str()).code, error::too_long);
}

TEST(parse, never_reads_past_the_size) {
  const std::string whole = "haltpoll:guest_halt_poll_ns=100000,guest_halt_poll_grow=3";
  for (std::size_t size = 0; size <= whole.size(); ++size) parse_exactly(whole.substr(0, size));
  EXPECT_EQ(parse(text{"fixed:window_ns=12", 17}).params.fixed.window_ns, 1U);
  EXPECT_EQ(parse(text{"fixed,", 5}).code, error::none);
}

TEST(parse, a_nul_inside_is_a_character_like_others) {
  using namespace std::string_literals;
  EXPECT_EQ(parse_exactly("fixed\0"s).code, error::unknown_governor);
  EXPECT_EQ(parse_exactly("fixed:window_ns\0=1"s).code, error::unknown_key);
  EXPECT_EQ(parse_exactly("fixed:window_ns=1\0"s).code, error::not_a_number);
}

TEST(describe, lets_no_control_character_onto_a_terminal) {
  EXPECT_TRUE(refusal("\x1b[31m\n\xff").starts_with("unknown governor \"?[31m??\"; "));
}

TEST(parse, works_before_anything_is_initialised) {
  static_assert(parse("fixed:window_ns=9").params.fixed.window_ns == 9);
  static_assert(parse("fixed:window_ns=9x").code == error::not_a_number);
}

}  // namespace
}  // namespace haltpoll::core::spec
