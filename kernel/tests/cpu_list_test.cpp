#include <gtest/gtest.h>

#include <haltpoll/kernel/guards.hpp>

namespace haltpoll::kernel {
namespace {

TEST(cpu_list, accepted) {
  const struct {
    const char* text;
    cpu_list cpus;
    const char* written;
  } rows[] = {
      {"", {}, ""},
      {"\n", {}, ""},
      {"1 \n", {1}, "1"},
      {"0", {0}, "0"},
      {"0-3,8\n", {0, 1, 2, 3, 8}, "0-3,8"},
      {"2-2", {2}, "2"},
      {"8,0-1", {0, 1, 8}, "0-1,8"},
      {"1-3,2-4,4", {1, 2, 3, 4}, "1-4"},
      {"0,2,4", {0, 2, 4}, "0,2,4"},
      {"8191", {8191}, "8191"},
      {"007", {7}, "7"},
  };
  for (const auto& row : rows) {
    const auto parsed = parse_cpu_list(row.text);
    ASSERT_TRUE(std::holds_alternative<cpu_list>(parsed))
        << row.text << ": " << std::get<std::string>(parsed);
    EXPECT_EQ(std::get<cpu_list>(parsed), row.cpus) << row.text;
    EXPECT_EQ(to_string(row.cpus), row.written);
  }
}

TEST(cpu_list, refused) {
  for (const char* text :
       {"x", ",", "1,", "1,,2", "-1", "+1", "1-", "1--2", "3-1", "0,8192", " 1", "1 ,2", "1\n2",
        "0x1", "0-10:2/4", "(null)", "1-2-3", "99999999999999999999", "0-4294967296"}) {
    const auto parsed = parse_cpu_list(text);
    ASSERT_TRUE(std::holds_alternative<std::string>(parsed)) << text;
    EXPECT_EQ(
        std::get<std::string>(parsed),
        "\"" + std::string(text) + "\" is not a list of CPUs such as 0-3,8 (numbers below 8192)");
  }
}

TEST(cpu_list, repetition_does_not_take_memory_without_bound) {
  std::string text = "0-8191";
  EXPECT_TRUE(std::holds_alternative<cpu_list>(parse_cpu_list(text)));
  text += ",0";
  EXPECT_EQ(std::get<std::string>(parse_cpu_list(text)), "a list of CPUs names more than 8192");
}

}  // namespace
}  // namespace haltpoll::kernel
