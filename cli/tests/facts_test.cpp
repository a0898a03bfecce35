// Machines that this one is not, as trees of files.
#include "facts.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace haltpoll::cli {
namespace {
namespace fs = std::filesystem;

class fake_machine {
 public:
  fake_machine()
      : root_(testing::TempDir() + "haltpoll_facts_" +
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::create_directories(root_);
  }
  ~fake_machine() { fs::remove_all(root_); }
  fake_machine& file(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
    return *this;
  }
  facts read(const cpuid_reader& cpuid = no_cpuid()) const { return read_facts(root_, cpuid); }

 private:
  fs::path root_;
};

const std::string cpuidle = "sys/devices/system/cpu/cpuidle/";
const std::string haltpoll_parameters = "sys/module/haltpoll/parameters/";

/// A hypervisor that answers with `signature` at `base` and with the registers below at base + 1.
cpuid_reader hypervisor(const char* signature, u32 base, u32 eax, u32 edx) {
  return [=](u32 leaf) -> std::optional<cpuid_registers> {
    cpuid_registers r{};
    if (leaf == 1) r.ecx = 1U << 31;
    if (leaf == 0x4000'0000 || leaf == base) {
      char text[12] = "";
      std::memcpy(text, leaf == base ? signature : "Microsoft Hv",
                  std::min<size_t>(12, std::strlen(leaf == base ? signature : "Microsoft Hv")));
      std::memcpy(&r.ebx, text, 4);
      std::memcpy(&r.ecx, text + 4, 4);
      std::memcpy(&r.edx, text + 8, 4);
    }
    if (leaf == base + 1) r.eax = eax, r.edx = edx;
    return r;
  };
}

TEST(facts, kvm_guest_with_haltpoll) {
  fake_machine m;
  m.file("sys/devices/system/cpu/online", "0-3,8\n")
      .file("proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD EPYC\nflags\t\t: fpu hypervisor\n")
      .file("proc/sys/kernel/osrelease", "6.12.1\n")
      .file("boot/config-6.12.1", "# CONFIG_HZ_250 is not set\nCONFIG_HZ=1000\n")
      .file("proc/stat", "cpu  50 0 30 800 0 0 0 120 0 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
      .file("sys/devices/system/clocksource/clocksource0/current_clocksource", "kvm-clock\n")
      .file("sys/class/dmi/id/sys_vendor", "Example\n")
      .file("sys/class/dmi/id/product_name", "Compute \n")
      .file("proc/cmdline", "quiet root=/dev/vda -- idle=notours\n")
      .file(cpuidle + "current_driver", "haltpoll\n")
      .file(cpuidle + "current_governor", "haltpoll\n")
      .file(haltpoll_parameters + "guest_halt_poll_ns", "200000\n")
      .file(haltpoll_parameters + "guest_halt_poll_grow_start", "50000\n");
  const facts f = m.read(hypervisor("KVMKVMKVM", 0x4000'0000, 1U << 12, 1));
  EXPECT_EQ(f.machine.cpus, 5U);
  EXPECT_EQ(f.machine.model, "AMD EPYC");
  EXPECT_EQ(f.machine.hypervisor, "KVM");
  EXPECT_EQ(f.machine.product, "Example Compute");
  EXPECT_EQ(f.machine.clock, "kvm-clock");
  EXPECT_EQ(f.machine.hz, 1000U);
  EXPECT_DOUBLE_EQ(f.machine.steal_share.value(), 0.12);
  EXPECT_EQ(f.idle.summary, "cpuidle driver haltpoll, governor haltpoll");
  EXPECT_TRUE(f.idle.haltpoll_in_use());
  EXPECT_EQ(f.idle.parameter, "");
  EXPECT_EQ(f.idle.mwait, false);
  ASSERT_TRUE(f.idle.kvm);
  EXPECT_TRUE(f.idle.kvm->realtime_hint);
  EXPECT_TRUE(f.idle.kvm->poll_control);
  EXPECT_EQ(f.idle.haltpoll_parameters.size(), 2U);
  EXPECT_TRUE(lint(f).empty());
}

TEST(facts, kvm_behind_hyperv_leaves) {
  const facts f = fake_machine().read(hypervisor("KVMKVMKVM", 0x4000'0100, 0, 0));
  EXPECT_EQ(f.machine.hypervisor, "Hyper-V");
  ASSERT_TRUE(f.idle.kvm);
  EXPECT_FALSE(f.idle.kvm->realtime_hint);
  EXPECT_FALSE(f.idle.kvm->poll_control);
}

TEST(facts, grow_start_above_the_maximum_is_found_with_both_values) {
  fake_machine m;
  m.file(haltpoll_parameters + "guest_halt_poll_ns", "2400000\n")
      .file(haltpoll_parameters + "guest_halt_poll_grow_start", "24000000\n");
  const auto findings = lint(m.read());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_NE(
      findings[0].find("guest_halt_poll_grow_start 24000000 is above guest_halt_poll_ns 2400000"),
      std::string::npos);
  m.file(haltpoll_parameters + "guest_halt_poll_grow_start", "2400000\n");
  EXPECT_TRUE(lint(m.read()).empty());
  m.file(haltpoll_parameters + "guest_halt_poll_ns", "0\n");
  EXPECT_TRUE(lint(m.read()).empty()) << "0 turns polling off";
}

TEST(facts, bare_metal_with_intel_idle) {
  fake_machine m;
  m.file("proc/cpuinfo", "model name\t: Intel(R) Xeon(R)\nflags\t\t: fpu monitor\n")
      .file(cpuidle + "current_driver", "intel_idle\n")
      .file(cpuidle + "current_governor_ro", "menu\n");
  const facts f = m.read([](u32) { return cpuid_registers{}; });
  EXPECT_EQ(f.machine.hypervisor, "none");
  EXPECT_EQ(f.idle.mwait, true);
  EXPECT_FALSE(f.idle.kvm);
  EXPECT_EQ(f.idle.summary, "cpuidle driver intel_idle, governor menu");
  EXPECT_FALSE(f.idle.haltpoll_in_use());
}

TEST(facts, guest_without_a_driver_halts) {
  fake_machine m;
  m.file("proc/cpuinfo", "flags\t\t: fpu hypervisor\n")
      .file(cpuidle + "current_driver", "none\n")
      .file(cpuidle + "current_governor", "haltpoll\n");
  const facts f = m.read();
  EXPECT_EQ(f.machine.hypervisor, "unknown");
  EXPECT_EQ(f.idle.summary, "none: default_idle (HLT)");
  EXPECT_FALSE(f.idle.haltpoll_in_use()) << "a governor without a driver decides nothing";
}

TEST(facts, arm64_guest) {
  fake_machine m;
  m.file("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n")
      .file("proc/device-tree/hypervisor/compatible", std::string("linux,kvm\0", 10));
  const facts f = m.read();
  EXPECT_EQ(f.machine.model, "implementer 0x41 part 0xd0c");
  EXPECT_EQ(f.machine.hypervisor, "linux,kvm");
  EXPECT_EQ(f.idle.summary, "none: default_idle (WFI)");
  EXPECT_FALSE(f.idle.mwait);
}

TEST(facts, idle_poll_is_said_and_warned_about) {
  fake_machine m;
  m.file("proc/cmdline", "idle=poll quiet\n").file(cpuidle + "current_driver", "none\n");
  const facts f = m.read();
  EXPECT_EQ(f.idle.parameter, "idle=poll");
  EXPECT_EQ(f.idle.summary.rfind("idle=poll", 0), 0U);
  EXPECT_EQ(lint(f).size(), 1U);
}

TEST(facts, nothing_to_read_is_no_error) {
  const facts f = fake_machine().read();
  EXPECT_EQ(f.machine.cpus, 0U);
  EXPECT_EQ(f.machine.hypervisor, "none");
  EXPECT_FALSE(f.machine.hz);
  EXPECT_FALSE(f.machine.steal_share);
  EXPECT_FALSE(f.quota);
  EXPECT_TRUE(lint(f).empty());
}

TEST(facts, tightest_quota_of_version_2) {
  fake_machine m;
  m.file("proc/self/cgroup", "0::/slice/unit\n")
      .file("sys/fs/cgroup/slice/unit/cpu.max", "max 100000\n")
      .file("sys/fs/cgroup/slice/cpu.max", "150000 100000\n")
      .file("sys/fs/cgroup/cpu.max", "200000 100000\n");
  const auto q = m.read().quota;
  ASSERT_TRUE(q);
  EXPECT_EQ(q->quota_us, 150'000U);
  EXPECT_EQ(q->period_us, 100'000U);
  EXPECT_EQ(q->file, "/sys/fs/cgroup/slice/cpu.max");
}

TEST(facts, quota_of_version_1) {
  fake_machine m;
  m.file("proc/self/cgroup", "4:memory:/x\n3:cpu,cpuacct:/box\n0::/\n")
      .file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n")
      .file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n")
      .file("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "50000\n")
      .file("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n");
  const auto q = m.read().quota;
  ASSERT_TRUE(q);
  EXPECT_EQ(q->quota_us, 50'000U);
}

TEST(facts, no_quota) {
  fake_machine m;
  m.file("proc/self/cgroup", "0::/\n").file("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_FALSE(m.read().quota);
}

}  // namespace
}  // namespace haltpoll::cli
