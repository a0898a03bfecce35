#include "terminal.hpp"

#include <gtest/gtest.h>

#include "failure.hpp"

namespace haltpoll::cli {
namespace {

TEST(terminal, durations_carry_their_unit) {
  EXPECT_EQ(duration(0), "0 ns");
  EXPECT_EQ(duration(999), "999 ns");
  EXPECT_EQ(duration(20'800), "20.8 us");
  EXPECT_EQ(duration(1'300'000), "1.3 ms");
  EXPECT_EQ(duration(2'500'000'000), "2.50 s");
}

TEST(terminal, columns_align_and_lines_end_without_blanks) {
  EXPECT_EQ(layout({{"a", "bb", "c"}, {"aaa", "b"}, {}}, "  "), "  a    bb  c\n  aaa  b\n\n");
}

TEST(failure, control_characters_do_not_reach_the_terminal) {
  EXPECT_EQ(printable("a\033[31m\nb"), "a?[31m?b");
  EXPECT_EQ(printable("größer"), "größer");
}

}  // namespace
}  // namespace haltpoll::cli
