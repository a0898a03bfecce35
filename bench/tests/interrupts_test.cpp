#include "interrupts.hpp"

#include <gtest/gtest.h>

namespace haltpoll::bench {
namespace {

TEST(interrupts, x86_counts_rescheduling_and_function_calls_of_all_cpus) {
  EXPECT_EQ(count_interrupts("           CPU0       CPU1\n"
                             "   4:        120          0   IO-APIC   4-edge      ttyS0\n"
                             " LOC:      20161      18022   Local timer interrupts\n"
                             " RES:       1200         34   Rescheduling interrupts\n"
                             " CAL:         10       5000   Function call interrupts\n"
                             " TLB:        777        777   TLB shootdowns\n"
                             " ERR:          3\n"),
            1200u + 34 + 10 + 5000);
}

TEST(interrupts, arm64_counts_its_two_ipis_by_name) {
  EXPECT_EQ(count_interrupts("           CPU0       CPU1\n"
                             " 11:       1000       1000     GICv3  27 Level     arch_timer\n"
                             "IPI0:        40         60       Rescheduling interrupts\n"
                             "IPI1:       500        400       Function call interrupts\n"
                             "IPI2:         9          9       CPU stop interrupts\n"
                             "IPI5:         7          7       IRQ work interrupts\n"
                             "Err:          0\n"),
            1000u);
}

TEST(interrupts, one_cpu_and_no_end_of_line) {
  EXPECT_EQ(count_interrupts(" RES:  7  Rescheduling interrupts"), 7u);
}

TEST(interrupts, a_machine_without_these_lines_has_no_count) {
  EXPECT_EQ(count_interrupts(""), std::nullopt);
  EXPECT_EQ(count_interrupts("  0:  12  timer\nIPI9:  12  Timer broadcast interrupts\n"),
            std::nullopt);
  EXPECT_EQ(interrupts_sent("/nowhere"), std::nullopt);
}

TEST(interrupts, this_machine_has_a_count_that_only_rises) {
  const auto before = interrupts_sent(), after = interrupts_sent();
  if (!before) GTEST_SKIP() << "/proc/interrupts has neither RES and CAL nor IPI lines";
  EXPECT_GE(after, before);
}

}  // namespace
}  // namespace haltpoll::bench
