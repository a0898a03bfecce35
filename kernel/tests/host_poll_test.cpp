#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <haltpoll/kernel/host_poll.hpp>
#include <map>

#include "sysroot.hpp"

namespace haltpoll::kernel {
namespace {

/// One MSR per CPU; some CPUs refuse.
class fake_msr final : public msr_access {
 public:
  explicit fake_msr(std::map<u32, u64> values) : values_(std::move(values)) {}
  int read(u32 cpu, u32 msr, u64& value) override {
    EXPECT_EQ(msr, msr_kvm_poll_control);
    if (!values_.contains(cpu)) return -ENXIO;
    value = values_[cpu];
    return 0;
  }
  int write(u32 cpu, u32 msr, u64 value) override {
    EXPECT_EQ(msr, msr_kvm_poll_control);
    if (!values_.contains(cpu)) return -ENXIO;
    if (read_only.contains(cpu)) return -read_only[cpu];
    values_[cpu] = value;
    return 0;
  }
  const std::map<u32, u64>& values() const { return values_; }
  void take_away(u32 cpu) { values_.erase(cpu); }
  std::map<u32, int> read_only;

 private:
  std::map<u32, u64> values_;
};

using values = std::map<u32, u64>;

TEST(host_poll, only_bit_0_is_cleared_and_what_was_there_comes_back) {
  const values before{{0, 1}, {1, 0x10001}, {2, 0}};
  fake_msr msr(before);
  const auto found = read_host_poll(msr, {0, 1, 2});
  ASSERT_TRUE(std::holds_alternative<saved_host_poll>(found));
  EXPECT_EQ(msr.values(), before);
  EXPECT_FALSE(switch_host_poll_off(msr, std::get<saved_host_poll>(found)));
  EXPECT_EQ(msr.values(), (values{{0, 0}, {1, 0x10000}, {2, 0}}));
  restore_host_poll(msr, std::get<saved_host_poll>(found));
  EXPECT_EQ(msr.values(), before);
}

TEST(host_poll, all_or_none) {
  const values before{{0, 1}, {1, 1}, {2, 1}};
  fake_msr msr(before);
  msr.read_only[1] = EPERM;
  const auto found = read_host_poll(msr, {0, 1, 2});
  ASSERT_TRUE(std::holds_alternative<saved_host_poll>(found));
  const auto r = switch_host_poll_off(msr, std::get<saved_host_poll>(found));
  ASSERT_TRUE(r);
  EXPECT_EQ(r->exit_code, 77);
  EXPECT_EQ(r->what,
            "host_poll_control: cannot write MSR 0x4b564d05 of CPU 1: Operation not permitted");
  EXPECT_NE(r->detail.find("locked down"), std::string::npos);
  EXPECT_EQ(msr.values(), before);
}

TEST(host_poll, a_cpu_that_is_gone_does_not_keep_the_others_from_coming_back) {
  fake_msr msr({{0, 1}, {1, 1}, {2, 1}});
  const auto found = std::get<saved_host_poll>(read_host_poll(msr, {0, 1, 2}));
  EXPECT_FALSE(switch_host_poll_off(msr, found));
  msr.take_away(1);
  restore_host_poll(msr, found);
  EXPECT_EQ(msr.values(), (values{{0, 1}, {2, 1}}));
}

TEST(host_poll, device_files) {
  sysroot tree;
  const auto msr = device_msr(tree.path());
  const auto missing = read_host_poll(*msr, {0});
  ASSERT_TRUE(std::holds_alternative<refusal>(missing));
  EXPECT_EQ(std::get<refusal>(missing).exit_code, 69);
  EXPECT_EQ(std::get<refusal>(missing).hint, "modprobe msr");

  // The offset in the file is the number of the MSR.
  for (const char* path : {"dev/cpu/0/msr", "dev/cpu/1/msr"}) {
    tree.file(path, "");
    const u64 value = 0x101;
    std::ofstream out(tree.path(path), std::ios::binary);
    out.seekp(msr_kvm_poll_control);
    out.write(reinterpret_cast<const char*>(&value), sizeof value);
  }
  const auto found = read_host_poll(*msr, {0, 1});
  ASSERT_TRUE(std::holds_alternative<saved_host_poll>(found));
  EXPECT_EQ(std::get<saved_host_poll>(found).values,
            (std::vector<std::pair<u32, u64>>{{0, 0x101}, {1, 0x101}}));
  EXPECT_FALSE(switch_host_poll_off(*msr, std::get<saved_host_poll>(found)));
  u64 value = 0;
  EXPECT_EQ(msr->read(1, msr_kvm_poll_control, value), 0);
  EXPECT_EQ(value, 0x100U);
  // Where an MSR does not exist, the driver answers EIO; here the file ends.
  EXPECT_EQ(msr->read(1, 0x7fff'ffff, value), -EIO);
}

cpuid_reader hypervisor(const char* signature, u32 base, u32 features) {
  return [=](u32 leaf) {
    std::array<u32, 4> r{};
    if (leaf == 1) r[2] = 1U << 31;
    if (leaf == 0x4000'0000 || leaf == base) {
      char text[12] = "";
      const char* shown = leaf == base ? signature : "Microsoft Hv";
      std::memcpy(text, shown, std::min<std::size_t>(12, std::strlen(shown)));
      std::memcpy(&r[1], text, 12);
    }
    if (leaf == base + 1) r[0] = features;
    return r;
  };
}

TEST(host_poll, offered) {
  const u32 poll_control = 1U << 12;
  EXPECT_EQ(host_poll_offered(hypervisor("KVMKVMKVM", 0x4000'0000, poll_control)), "");
  EXPECT_EQ(host_poll_offered(hypervisor("KVMKVMKVM", 0x4000'0100, poll_control)), "");
  EXPECT_NE(host_poll_offered(hypervisor("KVMKVMKVM", 0x4000'0000, ~poll_control)), "");
  EXPECT_EQ(host_poll_offered(hypervisor("VMwareVMware", 0x4000'0000, poll_control)),
            "the hypervisor is not KVM");
  EXPECT_NE(host_poll_offered([](u32) { return std::array<u32, 4>{}; }), "");
  EXPECT_NE(host_poll_offered(cpuid_reader{}), "");
}

}  // namespace
}  // namespace haltpoll::kernel
