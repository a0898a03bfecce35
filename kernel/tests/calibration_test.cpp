#include <gtest/gtest.h>

#include <haltpoll/kernel/calibration.hpp>
#include <vector>

namespace haltpoll::kernel {
namespace {

observation seen(u64 exits, u64 entries) { return {entries, exits, 2}; }

flag_bits found(const observation& o, architecture a) {
  const auto r = deduce(o, known_bits(a));
  if (const auto* why = std::get_if<std::string>(&r)) ADD_FAILURE() << *why;
  return std::holds_alternative<flag_bits>(r) ? std::get<flag_bits>(r) : flag_bits{};
}

std::string refused(const observation& o, architecture a) {
  const auto r = deduce(o, known_bits(a));
  EXPECT_TRUE(std::holds_alternative<std::string>(r));
  return std::holds_alternative<std::string>(r) ? std::get<std::string>(r) : "";
}

// The flags that real kernels showed.
TEST(calibration, kernels_measured) {
  const flag_bits old_x86 = found(seen(0x204008, 0x204000), architecture::x86_64);  // 6.1, 6.12
  EXPECT_EQ(old_x86.need_resched, 0x8u);
  EXPECT_EQ(old_x86.polling, 0x200000u);
  const flag_bits new_x86 = found(seen(0x80050, 0x80040), architecture::x86_64);  // 7.2
  EXPECT_EQ(new_x86.need_resched, 0x10u);
  EXPECT_EQ(new_x86.polling, 0x40u);
  const flag_bits arm = found(seen(0x12, 0x10), architecture::aarch64);  // 7.2
  EXPECT_EQ(arm.need_resched, 0x2u);
  EXPECT_EQ(arm.polling, 0u);
}

TEST(calibration, no_candidate) {
  EXPECT_NE(
      refused(seen(0x204000, 0x204000), architecture::x86_64).find("0 bits could be NEED_RESCHED"),
      std::string::npos);
}

TEST(calibration, two_candidates) {
  const std::string why = refused(seen(0x20400c, 0x204000), architecture::x86_64);
  EXPECT_NE(why.find("2 bits could be NEED_RESCHED"), std::string::npos) << why;
  EXPECT_NE(why.find("0x20400c"), std::string::npos) << why;
}

TEST(calibration, candidate_that_the_table_does_not_know) {
  EXPECT_NE(refused(seen(0x24, 0x20), architecture::x86_64).find("0x4, which is not known"),
            std::string::npos);
  EXPECT_NE(refused(seen(0x18, 0x10), architecture::aarch64).find("0x8, which is not known"),
            std::string::npos);
  EXPECT_NE(refused(seen(0x12, 0x10), architecture::other).find("not known"), std::string::npos);
}

// A bit that looks right without the polling flag that belongs to it is another kernel's layout.
TEST(calibration, polling_flag_missing) {
  EXPECT_NE(refused(seen(0x8, 0), architecture::x86_64).find("polling flag 0x200000"),
            std::string::npos);
  EXPECT_NE(refused(seen(0x200010, 0x200000), architecture::x86_64).find("polling flag 0x40"),
            std::string::npos);
}

TEST(calibration, only_cpus_with_enough_passes_count) {
  std::vector<cpu_record> cpus(3);
  for (cpu_record& r : cpus) {
    r.entry_flags = 0x204000;
    r.exit_flags = 0x204008;
    r.entries = r.exits = 40;
  }
  cpus[1].exits = calibration_passes - 1;
  cpus[1].exit_flags = ~0ULL;
  cpus[2].entries = 0;
  const observation o = observe(cpus);
  EXPECT_EQ(o.cpus, 1u);
  EXPECT_EQ(o.exit_flags, 0x204008u);
  cpus[0].entries = 0;
  EXPECT_EQ(observe(cpus).cpus, 0u);
  EXPECT_NE(
      refused(observe(cpus), architecture::x86_64).find("no CPU passed the idle loop 32 times"),
      std::string::npos);
}

}  // namespace
}  // namespace haltpoll::kernel
