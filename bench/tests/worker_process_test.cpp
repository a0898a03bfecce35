// One worker from start to end: what it says, how it fails, and that nothing of it survives.
#include "worker_process.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "load.hpp"
#include "wire.hpp"

namespace haltpoll::bench {
namespace {

class worker : public testing::Test {
 protected:
  worker() {
    std::string path = (std::filesystem::temp_directory_path() / "worker_test_XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) ADD_FAILURE() << path;
    directory = path;
  }
  ~worker() override { std::filesystem::remove_all(directory); }

  worker_command shell(const std::string& script, u32 limit_seconds = 60) const {
    return {{"/bin/sh", "-c", script}, {"DIR=" + directory}, limit_seconds};
  }
  std::string error_of(const std::string& script, u32 limit_seconds = 60) const {
    const outcome o = run_worker(shell(script, limit_seconds));
    return std::holds_alternative<std::string>(o) ? std::get<std::string>(o) : "(a sample)";
  }
  /// The process whose number a script left in $DIR/pid, once it is there; 0 if it never comes.
  pid_t noted_pid() const {
    for (int i = 0; i < 1000; ++i) {
      pid_t pid = 0;
      if (std::ifstream(directory + "/pid") >> pid) return pid;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return 0;
  }
  /// Gone or only waiting to be reaped by init.
  static bool ended(pid_t pid) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string number, name, state;
    return !(stat >> number >> name >> state) || state == "Z" || state == "X";
  }
  static bool ends(pid_t pid) {
    for (int i = 0; i < 1000 && !ended(pid); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return ended(pid);
  }

  std::string directory;
  const std::string good_line = encode(sample{});
};

TEST_F(worker, hands_over_its_sample) {
  sample s;
  s.ops = 77;
  const outcome o = run_worker(shell("echo '" + encode(s) + "'"));
  ASSERT_TRUE(std::holds_alternative<sample>(o)) << std::get<std::string>(o);
  EXPECT_EQ(std::get<sample>(o).ops, 77u);
}

TEST_F(worker, failures_say_what_happened) {
  EXPECT_EQ(error_of("echo '{\"error\": \"no luck\"}'; exit 70"), "no luck");
  EXPECT_EQ(error_of("echo one >&2; echo two >&2; exit 3"),
            "the worker said nothing (exit code 3): two");
  EXPECT_EQ(error_of("kill -SEGV $$"), "the worker said nothing (signal 11)");
  EXPECT_EQ(error_of("exit 0"), "the worker said nothing (exit code 0)");
  EXPECT_EQ(error_of("echo hello"), "the worker said \"hello\n\"");
  const outcome o = run_worker({{"/nonexistent"}, {}, 60});
  EXPECT_EQ(std::get<std::string>(o), "cannot run /nonexistent");
}

TEST_F(worker, gets_its_environment_in_place_of_the_callers) {
  ::setenv("HALTPOLL_TEST_KEPT", "kept", 1);
  ::setenv("HALTPOLL_TEST_CHANGED", "old", 1);
  worker_command c =
      shell("echo \"{\\\"error\\\":\\\"$HALTPOLL_TEST_KEPT $HALTPOLL_TEST_CHANGED\\\"}\"");
  c.environment.push_back("HALTPOLL_TEST_CHANGED=new");
  EXPECT_EQ(std::get<std::string>(run_worker(c)), "kept new");
  ::unsetenv("HALTPOLL_TEST_KEPT");
  ::unsetenv("HALTPOLL_TEST_CHANGED");
}

TEST_F(worker, a_hung_one_is_killed_with_its_children) {
  EXPECT_EQ(error_of("sleep 1000 & echo $! >$DIR/pid; wait", 1),
            "the worker did not finish in 1 s and was killed");
  const pid_t child = noted_pid();
  ASSERT_NE(child, 0);
  EXPECT_TRUE(ends(child));
}

TEST_F(worker, leaves_no_child_behind_when_it_ends) {
  const outcome o = run_worker(shell("sleep 1000 & echo $! >$DIR/pid; echo '" + good_line + "'"));
  EXPECT_TRUE(std::holds_alternative<sample>(o));
  const pid_t child = noted_pid();
  ASSERT_NE(child, 0);
  EXPECT_TRUE(ends(child));
}

TEST_F(worker, dies_with_the_runner) {
  const pid_t runner = ::fork();
  if (runner == 0) {
    run_worker(shell("echo $$ >$DIR/pid; exec sleep 1000"));
    ::_exit(0);
  }
  const pid_t pid = noted_pid();
  ASSERT_NE(pid, 0);
  EXPECT_FALSE(ended(pid));
  ::kill(runner, SIGKILL);
  EXPECT_EQ(wait_for(runner), "signal 9");
  EXPECT_TRUE(ends(pid));
}

TEST_F(worker, program_is_found_beside_this_one_or_where_the_environment_says) {
  std::vector<std::string> looked_at;
  EXPECT_NE(worker_program(looked_at), "");
  ::setenv("HALTPOLL_WORKER", "/nonexistent/worker", 1);
  EXPECT_EQ(worker_program(looked_at), "");
  EXPECT_EQ(looked_at, std::vector<std::string>{"/nonexistent/worker"});
  ::unsetenv("HALTPOLL_WORKER");
}

TEST_F(worker, arguments_that_make_no_sense_are_refused) {
  std::vector<std::string> looked_at;
  const std::string program = worker_program(looked_at);
  struct refused {
    std::vector<std::string> arguments;
    const char* text;
  };
  const refused table[] = {
      {{}, "usage: haltpoll-worker WORKLOAD --ops N --cpu-a A --cpu-b B [--variant V]"},
      {{"nothing"}, "unknown workload \"nothing\""},
      {{"pipe", "--ops"}, "--ops has no value"},
      {{"pipe", "--ops", "many"}, "--ops \"many\" is not a number of 0 or more"},
      {{"pipe", "--ops", "-1"}, "--ops \"-1\" is not a number of 0 or more"},
      {{"pipe", "--cpu-a", "-1"}, "--cpu-a \"-1\" is not a number of 0 or more"},
      {{"pipe", "--cpu-b", "1x"}, "--cpu-b \"1x\" is not a number of 0 or more"},
      {{"pipe", "--fast", "1"}, "unknown option \"--fast\""},
      {{"pipe", "--ops", "0"}, "a ping-pong needs at least one operation"},
      {{"pipe", "--ops", "10", "--cpu-a", "1023"}, "CPU 1023: Invalid argument"},
      {{"pipe", "--ops", "10", "--cpu-b", "1023"}, "peer, turn 0: Invalid argument"},
      {{"redis", "--ops", "0"}, "redis needs at least one operation"},
  };
  for (const refused& r : table) {
    worker_command c{{program}, {}, 60};
    c.argv.insert(c.argv.end(), r.arguments.begin(), r.arguments.end());
    const outcome o = run_worker(c);
    ASSERT_TRUE(std::holds_alternative<std::string>(o)) << r.text;
    EXPECT_EQ(std::get<std::string>(o), r.text);
  }
}

TEST_F(worker, without_redis_says_how_to_get_it) {
  std::vector<std::string> looked_at;
  const worker_command c{
      {worker_program(looked_at), "redis", "--ops", "10"}, {"PATH=" + directory}, 60};
  EXPECT_EQ(std::get<std::string>(run_worker(c)),
            "redis-server not found (./dev setup installs it)");
}

}  // namespace
}  // namespace haltpoll::bench
