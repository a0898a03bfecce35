#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <haltpoll/bench/machine.hpp>

namespace haltpoll::bench {
namespace {

/// A root directory with a /proc and a /sys of our own; gone at the end.
class fake_root : public testing::Test {
 protected:
  fake_root() {
    std::string path = (std::filesystem::temp_directory_path() / "machine_test_XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) ADD_FAILURE() << path;
    root = path;
  }
  ~fake_root() override { std::filesystem::remove_all(root); }
  void put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  }
  void siblings(int cpu, const std::string& list) {
    put("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
        list + "\n");
  }
  std::string root;
};

TEST_F(fake_root, facts_come_from_proc_and_sys) {
  put("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n");
  put("/proc/loadavg", "1.25 0.50 0.10 2/300 1234\n");
  put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "kvm-clock\n");
  put("/sys/devices/system/cpu/cpuidle/current_driver", "haltpoll\n");
  const machine m = read_machine(root);
  EXPECT_EQ(m.model, "Some CPU @ 2 GHz");
  EXPECT_EQ(m.clocksource, "kvm-clock");
  EXPECT_EQ(m.cpuidle_driver, "haltpoll");
  EXPECT_DOUBLE_EQ(m.load_before, 1.25);
  EXPECT_FALSE(m.quiet());
  EXPECT_GT(m.cpus, 0);
}

TEST_F(fake_root, what_is_missing_is_said_to_be_unknown) {
  const machine m = read_machine(root);
  EXPECT_EQ(m.model, "unknown");
  EXPECT_EQ(m.clocksource, "unknown");
  EXPECT_EQ(m.cpuidle_driver, "none");
  EXPECT_TRUE(m.quiet());
}

TEST_F(fake_root, arm64_is_named_by_its_numbers) {
  put("/proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n");
  EXPECT_EQ(read_machine(root).model, "implementer 0x41 part 0xd0c");
}

TEST_F(fake_root, steal_is_a_share_of_all_time) {
  put("/proc/stat", "cpu  100 0 100 700 0 0 0 100 5 5\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
  const auto from = read_cpu_time(root);
  put("/proc/stat", "cpu  150 0 150 800 0 0 0 150 9 9\n");
  const auto to = read_cpu_time(root);
  ASSERT_TRUE(from && to);
  EXPECT_EQ(from->total, 1000u);
  EXPECT_DOUBLE_EQ(steal_percent(*from, *to), 20.0);
  EXPECT_DOUBLE_EQ(steal_percent(*from, *from), 0.0);
  put("/proc/stat", "cpu 1 2\n");
  EXPECT_FALSE(read_cpu_time(root));
}

TEST_F(fake_root, the_pair_is_two_cores_if_there_is_a_choice) {
  siblings(0, "0-1"), siblings(1, "0-1"), siblings(2, "2-3"), siblings(3, "2-3");
  EXPECT_EQ(choose_pair({0, 1, 2, 3}, root), std::pair(0, 2));
  EXPECT_EQ(choose_pair({1, 3}, root), std::pair(1, 3));
  EXPECT_EQ(choose_pair({0, 1}, root), std::pair(0, 1));  // no choice
  EXPECT_FALSE(choose_pair({2}, root));
  EXPECT_FALSE(choose_pair({}, root));
}

TEST(cpus, are_those_of_the_affinity_mask) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  const int first = allowed_cpus().front();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(allowed_cpus(), std::vector{first});
  ::sched_setaffinity(0, sizeof before, &before);
}

}  // namespace
}  // namespace haltpoll::bench
