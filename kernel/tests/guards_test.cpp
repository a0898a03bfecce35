// Machines on which polling would do harm, as trees of files.
#include <gtest/gtest.h>

#include <haltpoll/core/spec.hpp>
#include <haltpoll/kernel/guards.hpp>

#include "sysroot.hpp"

namespace haltpoll::kernel {
namespace {

const std::string cpu = "sys/devices/system/cpu/";
const std::string clock_file = "sys/devices/system/clocksource/clocksource0/current_clocksource";

/// A KVM guest without an idle driver: nothing to refuse.
void plain_guest(sysroot& m) {
  m.file(cpu + "online", "0-3\n")
      .file(cpu + "isolated", "\n")
      .file(cpu + "cpuidle/current_driver", "none\n")
      .file(cpu + "cpuidle/current_governor_ro", "menu\n")
      .file(clock_file, "tsc\n")
      .file("proc/cmdline", "root=/dev/vda1 quiet\n");
}

guarded_machine read(const sysroot& m) { return read_guarded_machine(m.path()); }

TEST(guards, plain_guest_is_refused_nothing) {
  sysroot tree;
  plain_guest(tree);
  const guarded_machine m = read(tree);
  EXPECT_EQ(m.cpuidle_driver, "none");
  EXPECT_EQ(m.cpuidle_governor, "menu");
  EXPECT_EQ(m.clocksource, "tsc");
  EXPECT_EQ(m.idle_parameter, "");
  EXPECT_EQ(m.online, (cpu_list{0, 1, 2, 3}));
  EXPECT_EQ(m.isolated, cpu_list{});
  EXPECT_FALSE(m.mwait_state);
  const auto r = refuse({}, m);
  EXPECT_FALSE(r) << r->what;
}

/// One file changed, what is said about it, and the option that switches the guard off.
struct reason {
  const char *path, *text, *what, *key;
  bool guard_options::*option;
};
constexpr reason reasons[] = {
    {"sys/devices/system/cpu/cpuidle/current_driver", "haltpoll\n",
     "the kernel's own haltpoll polls already (cpuidle driver haltpoll, governor menu)",
     "--guard-haltpoll=false", &guard_options::haltpoll},
    {"sys/devices/system/cpu/cpu3/cpuidle/state1/desc", "MWAIT 0x00\n",
     "idle CPUs wait by MWAIT (cpuidle driver intel_idle), which wakers need not interrupt",
     "--guard-mwait=false", &guard_options::mwait},
    {"sys/devices/system/cpu/cpu0/cpuidle/state2/desc", "ACPI FFH MWAIT 0x31\n",
     "idle CPUs wait by MWAIT (cpuidle driver intel_idle), which wakers need not interrupt",
     "--guard-mwait=false", &guard_options::mwait},
    {"proc/cmdline", "quiet idle=poll -- idle=halt\n",
     "idle=poll is on the kernel's command line: idle CPUs spin already", "--guard-mwait=false",
     &guard_options::mwait},
    {"proc/cmdline", "nohlt quiet\n",
     "nohlt is on the kernel's command line: idle CPUs spin already", "--guard-mwait=false",
     &guard_options::mwait},
    {"sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n",
     "clock source hpet: reading it leaves the guest, which costs as much as the halt that polling "
     "saves",
     "--guard-clock=false", &guard_options::clock},
    {"sys/devices/system/clocksource/clocksource0/current_clocksource", "hyperv_clocksource_msr\n",
     "clock source hyperv_clocksource_msr: reading it leaves the guest, which costs as much as the "
     "halt that polling saves",
     "--guard-clock=false", &guard_options::clock},
    {"sys/devices/system/clocksource/clocksource0/current_clocksource", "",
     "clock source unknown: reading it leaves the guest, which costs as much as the halt that "
     "polling saves",
     "--guard-clock=false", &guard_options::clock},
};

TEST(guards, each_reason_is_refused_and_can_be_overridden) {
  for (const reason& row : reasons) {
    sysroot tree;
    plain_guest(tree);
    if (std::string(row.text).find("MWAIT") != std::string::npos)
      tree.file(cpu + "cpuidle/current_driver", "intel_idle\n");
    tree.file(row.path, row.text);
    guard_options o;
    const auto r = refuse(o, read(tree));
    ASSERT_TRUE(r) << row.what;
    EXPECT_EQ(r->exit_code, 69);
    EXPECT_EQ(r->what, row.what);
    EXPECT_NE(r->hint.find(row.key), std::string::npos) << r->hint;
    o.*row.option = false;
    const auto overridden = refuse(o, read(tree));
    EXPECT_FALSE(overridden) << overridden->what;
  }
}

TEST(guards, clocks_read_inside_the_guest) {
  for (const char* name : {"tsc", "tsc-early", "kvm-clock", "hyperv_clocksource_tsc_page", "xen",
                           "arch_sys_counter"}) {
    sysroot tree;
    plain_guest(tree);
    tree.file(clock_file, name);
    EXPECT_FALSE(refuse({}, read(tree))) << name;
  }
}

TEST(guards, the_governor_counts_only_with_a_driver) {
  sysroot tree;
  plain_guest(tree);
  tree.file(cpu + "cpuidle/current_governor_ro", "haltpoll\n");
  EXPECT_FALSE(refuse({}, read(tree)));
  tree.file(cpu + "cpuidle/current_driver", "acpi_idle\n");
  const auto r = refuse({}, read(tree));
  ASSERT_TRUE(r);
  EXPECT_EQ(
      r->what,
      "the kernel's own haltpoll polls already (cpuidle driver acpi_idle, governor haltpoll)");
}

TEST(guards, states_that_are_left_behind_are_not_in_use) {
  sysroot tree;
  plain_guest(tree);
  tree.file(cpu + "cpu0/cpuidle/state1/desc", "MWAIT 0x00\n");
  EXPECT_FALSE(read(tree).mwait_state);
  tree.file(cpu + "cpuidle/current_driver", "acpi_idle\n")
      .file(cpu + "cpu0/cpuidle/state1/desc", "ACPI HLT\n");
  EXPECT_FALSE(read(tree).mwait_state);
}

TEST(guards, a_list_that_makes_no_sense_is_said) {
  sysroot tree;
  plain_guest(tree);
  tree.file(cpu + "nohz_full", "  (null)\n");  // a list that was never made
  EXPECT_FALSE(refuse({}, read(tree)));
  tree.file(cpu + "nohz_full", "1-x\n");
  const auto r = refuse({}, read(tree));
  ASSERT_TRUE(r);
  EXPECT_NE(r->what.find("nohz_full: \"1-x\""), std::string::npos) << r->what;
}

TEST(guards, cpus_that_are_not_there) {
  sysroot tree;
  plain_guest(tree);
  guard_options o;
  o.cpus = cpu_list{2, 3};
  EXPECT_FALSE(refuse(o, read(tree)));
  o.cpus = cpu_list{3, 4, 5};
  const auto r = refuse(o, read(tree));
  ASSERT_TRUE(r);
  EXPECT_EQ(r->exit_code, 64);
  EXPECT_EQ(r->what, "cpus: CPU 4 is not online; there are 0-3");
}

TEST(guards, exclusions) {
  guarded_machine m;
  m.nohz_full = {1};
  m.isolated = {2};
  std::vector<cpu_record> records(4);
  guard_options o;
  const auto bits = [&] {
    apply(o, m, records);
    std::vector<u32> all;
    for (const cpu_record& r : records) all.push_back(r.guards);
    return all;
  };
  EXPECT_EQ(bits(), (std::vector<u32>{0, guard::nohz_full, guard::nohz_full, 0}));
  o.cpus = cpu_list{1, 3};
  EXPECT_EQ(bits(), (std::vector<u32>{guard::cpu_list, guard::nohz_full,
                                      guard::cpu_list | guard::nohz_full, 0}));
  o.nohz_full = false;
  EXPECT_EQ(bits(), (std::vector<u32>{guard::cpu_list, 0, guard::cpu_list, 0}));
  // From the start on nothing is left of an earlier run.
  records[0].guards |= guard::steal;
  records[0].window_cap_ns = 1000;
  o = {};
  o.nohz_full = false;
  EXPECT_EQ(bits(), std::vector<u32>(4));
  for (const cpu_record& r : records) EXPECT_EQ(r.window_cap_ns, core::spec::hard_cap_ns);
}

TEST(guards, described) {
  cpu_record r{};
  EXPECT_TRUE(describe(r).empty());
  r.guards = guard::cpu_list | guard::nohz_full | guard::steal;
  r.window_cap_ns = 125'000;
  r.steal_permille = 123;
  r.refused_share = 4;
  r.refused_pollers = 5;
  EXPECT_EQ(describe(r),
            (std::vector<std::string>{
                "cpus: not in the list, does not poll", "nohz_full: isolated, does not poll",
                "steal: the host took 12.3 % of its time, window at most 125000 ns",
                "max_polled_percent: 4 polls not begun", "max_pollers: 5 polls not begun"}));
}

}  // namespace
}  // namespace haltpoll::kernel
