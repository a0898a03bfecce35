// Regular files, devices, non-blocking descriptors and descriptors that have data cost the same
// system calls with the library as without, but for one look at a descriptor of a slow read (fstat,
// and F_GETFL for a pipe).
#include <gtest/gtest.h>

#include <map>

#include "spawn.hpp"

namespace haltpoll::process::test {
namespace {

/// Calls by name between the two getppid of the program.
std::map<std::string, int> calls(const std::string& trace) {
  std::map<std::string, int> count;
  std::istringstream lines(trace);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    const std::string name = line.substr(0, line.find('('));
    if (name == "getppid")
      inside = !inside;
    else if (inside)
      ++count[name];
  }
  return count;
}

std::map<std::string, int> traced(const char* governor) {
  stats_memory stats;
  std::vector<std::string> command = {"strace", "-o", "/dev/stdout"};
  if (governor != nullptr)
    for (const std::string& e : preload_environment(PRELOAD_LIBRARY, governor, stats.path()))
      command.insert(command.end(), {"-E", e});
  command.push_back(CLIENT_PLAIN);
  const finished f = run(command, nullptr);
  EXPECT_EQ(f.status, 0) << f.err;
  return calls(f.out);
}

TEST(untouched, same_system_calls) {
  if (std::string(TEST_EMULATOR) != "")
    GTEST_SKIP() << "strace cannot look into an emulated program";
  if (system("strace -o /dev/null true 2>/dev/null") != 0)
    GTEST_SKIP() << "strace does not work here";
  const auto off = traced(nullptr);
  auto on = traced(longest_window);
  ASSERT_EQ(off.at("read"), 50);
  constexpr int descriptors = 4;
  EXPECT_LE(on["newfstatat"], descriptors);
  EXPECT_LE(on["fcntl"], descriptors);
  // The pipe that has data, once it is known: preadv2 in place of read, one for one.
  on["read"] += on["preadv2"];
  EXPECT_LE(on["sched_getscheduler"], 1);  // once per thread
  for (const char* look : {"newfstatat", "fstat", "fcntl", "preadv2", "sched_getscheduler"})
    on.erase(look);
  EXPECT_EQ(on, off);
}

}  // namespace
}  // namespace haltpoll::process::test
