#include "counter_trust.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "counter.hpp"

namespace {

using namespace haltpoll::cpu;

counter_facts machine(const char* clocksource, bool invariant = true, bool readable = true) {
  counter_facts facts{invariant, readable, {}};
  std::strncpy(facts.clocksource, clocksource, sizeof facts.clocksource - 1);
  return facts;
}

TEST(counter_trust, trusts_what_the_kernel_keeps_time_by) {
  EXPECT_EQ(objection(machine(counter_clocksource)), nullptr);
}

TEST(counter_trust, refuses_with_the_reason) {
  const struct {
    counter_facts facts;
    const char* reason;
  } refusals[] = {
      {machine(counter_clocksource, false), "constant rate"},
      {machine(counter_clocksource, true, false), "may not read"},
      {machine(""), "cannot be read"},
      {machine("kvm-clock"), "hypervisor"},
      {machine("hyperv_clocksource_tsc_page"), "hypervisor"},
      {machine("xen"), "hypervisor"},
      {machine("hpet"), "kernel itself"},
      {machine("acpi_pm"), "kernel itself"},
      {machine("jiffies"), "kernel itself"},
      // While booting; and nothing that merely begins like it.
      {machine((std::string(counter_clocksource) + "-early").c_str()), "kernel itself"},
  };
  for (const auto& r : refusals) {
    const char* why = objection(r.facts);
    ASSERT_NE(why, nullptr) << r.facts.clocksource;
    EXPECT_NE(std::strstr(why, r.reason), nullptr) << why;
  }
}

struct file {
  explicit file(const std::string& content) { std::ofstream(path) << content; }
  ~file() { unlink(path.c_str()); }
  std::string path = testing::TempDir() + "clocksource." + std::to_string(getpid());
};

TEST(counter_trust, reads_the_name_without_its_newline) {
  const file f("kvm-clock\n");
  EXPECT_STREQ(gather_counter_facts(f.path.c_str()).clocksource, "kvm-clock");
}

TEST(counter_trust, a_missing_or_empty_file_is_an_unknown_clocksource) {
  errno = 0;
  EXPECT_STREQ(gather_counter_facts("/nonexistent/current_clocksource").clocksource, "");
  EXPECT_EQ(errno, 0);
  const file f("");
  EXPECT_STREQ(gather_counter_facts(f.path.c_str()).clocksource, "");
}

TEST(counter_trust, a_name_too_long_is_cut_and_so_not_ours) {
  const file f(std::string(100, 't'));
  EXPECT_EQ(std::strlen(gather_counter_facts(f.path.c_str()).clocksource),
            sizeof(counter_facts::clocksource) - 1);
}

}  // namespace
