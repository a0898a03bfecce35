// Where a setting comes from, and what is said about one that makes no sense.
#include "config.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace haltpoll::cli {
namespace {

/// A variable for the length of a test.
class variable {
 public:
  variable(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~variable() { unsetenv(name_); }
  variable(const variable&) = delete;
  variable& operator=(const variable&) = delete;

 private:
  const char* name_;
};

class config_file {
 public:
  explicit config_file(const std::string& text)
      : path_(testing::TempDir() + "haltpoll_config_test.toml"), named_("HALTPOLL_CONFIG", path_) {
    std::ofstream(path_) << text;
  }
  ~config_file() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  variable named_;
};

template <class F>
failure failure_of(F&& f) {
  try {
    f();
  } catch (const failure& e) {
    return e;
  }
  ADD_FAILURE() << "nothing was refused";
  return failure(0, "");
}

layer governor_flag(const std::string& spec) {
  layer l;
  l.governor = {spec, "--governor"};
  return l;
}

TEST(config, rising_order_of_default_file_variable_flag) {
  EXPECT_EQ(effective_governor({}).origin, "default");
  const config_file file("# a comment\ngovernor = \"breakeven\"\n");
  EXPECT_EQ(effective_governor({}).value.spec, "breakeven");
  EXPECT_EQ(effective_governor({}).origin, file.path() + ":2: governor");
  const variable window("HALTPOLL_WINDOW_NS", "7000");
  EXPECT_EQ(effective_governor({}).value.spec, "fixed:window_ns=7000");
  EXPECT_EQ(effective_governor({}).origin, "HALTPOLL_WINDOW_NS");
  EXPECT_EQ(effective_governor(governor_flag("host")).value.spec, "host");
  EXPECT_EQ(effective_governor(governor_flag("host")).origin, "--governor");
}

TEST(config, an_overridden_layer_is_checked_all_the_same) {
  const variable broken("HALTPOLL_GOVERNOR", "nonsense");
  const failure f = failure_of([] { effective_governor(governor_flag("fixed")); });
  EXPECT_EQ(f.code, exit_code::bad_data);
  EXPECT_EQ(std::string(f.what()).rfind("HALTPOLL_GOVERNOR: unknown governor \"nonsense\"", 0), 0U)
      << f.what();
}

TEST(config, a_named_file_must_be_there) {
  const variable named("HALTPOLL_CONFIG", "/nonexistent/haltpoll.toml");
  const failure f = failure_of([] { effective_governor({}); });
  EXPECT_EQ(f.code, exit_code::bad_data);
  EXPECT_STREQ(f.what(), "/nonexistent/haltpoll.toml: No such file or directory");
}

TEST(config, a_directory_is_no_file) {
  const variable named("HALTPOLL_CONFIG", "/");
  EXPECT_STREQ(failure_of([] { effective_governor({}); }).what(), "/: Is a directory");
}

TEST(config, grow_start_above_the_maximum_is_refused_with_both) {
  const failure f = failure_of(
      [] { effective_governor(governor_flag("haltpoll:guest_halt_poll_grow_start=24000000")); });
  EXPECT_EQ(f.code, exit_code::usage);
  EXPECT_STREQ(
      f.what(),
      "--governor: guest_halt_poll_grow_start 24000000 is above guest_halt_poll_ns 200000");
  EXPECT_FALSE(f.hint.empty());
}

TEST(config, governor_and_window_in_one_layer_contradict) {
  layer l = governor_flag("fixed");
  l.window_ns = {"1", "--window-ns"};
  EXPECT_EQ(failure_of([&] { effective_governor(l); }).code, exit_code::usage);
}

struct refusal {
  const char* text;
  const char* message;
};

TEST(config, every_refusal_names_file_and_line) {
  const refusal table[] = {
      {"governor = \"fixed\"\nwindow = 3\n",
       "f:2: unknown key \"window\"; there are governor, window_ns, cpus, guard_steal, "
       "max_pollers, "
       "max_polled_percent, guard_nohz_full, guard_haltpoll, guard_mwait, guard_clock, "
       "host_poll_control"},
      {"\n\ngovernor = 3\n", "f:3: governor must be a string"},
      {"window_ns = \"3\"\n", "f:1: window_ns must be a whole number"},
      {"window_ns = 3.5\n", "f:1: window_ns must be a whole number"},
      {"window_ns = -1\n", "f:1: window_ns: \"-1\" is not a whole number from 0 to 1000000"},
      {"\nwindow_ns = 1000001\n", "f:2: window_ns: 1000001 is above the limit 1000000"},
      {"governor = \"host:halt_poll_ns=x\"\n",
       "f:1: governor: halt_poll_ns \"x\" is not a whole number of 0 or more"},
      {"guard_steal = 101\n", "f:1: guard_steal: 101 is above the limit 100"},
      {"guard_steal = true\n", "f:1: guard_steal must be a whole number"},
      {"guard_mwait = \"no\"\n", "f:1: guard_mwait must be true or false"},
      {"\ncpus = \"1-\"\n",
       "f:2: cpus: \"1-\" is not a list of CPUs such as 0-3,8 (numbers below 8192)"},
      {"cpus = \"\"\n", "f:1: cpus: the list of CPUs is empty"},
      {"[kernel]\ngovernor = \"fixed\"\n",
       "f:1: unknown key \"kernel\"; there are governor, window_ns, cpus, guard_steal, "
       "max_pollers, "
       "max_polled_percent, guard_nohz_full, guard_haltpoll, guard_mwait, guard_clock, "
       "host_poll_control"},
  };
  for (const refusal& r : table) {
    const failure f = failure_of([&r] { parse_config(r.text, "f"); });
    EXPECT_STREQ(f.what(), r.message);
    EXPECT_EQ(f.code, exit_code::bad_data);
  }
  const failure syntax = failure_of([] { parse_config("governor = \"fixed\"\n= 3\n", "f"); });
  EXPECT_EQ(std::string(syntax.what()).rfind("f:2: ", 0), 0U) << syntax.what();
}

TEST(config, an_empty_file_says_nothing) {
  EXPECT_FALSE(governor_of(parse_config("# only a comment\n", "f"), exit_code::bad_data));
}

TEST(number, limits_are_named) {
  EXPECT_EQ(number("100", "--rounds", 1, 100), 100U);
  EXPECT_STREQ(failure_of([] { number("0", "--rounds", 1, 100); }).what(),
               "--rounds: 0 is below the limit 1");
  EXPECT_STREQ(failure_of([] { number("101", "--rounds", 1, 100); }).what(),
               "--rounds: 101 is above the limit 100");
  for (const char* text : {"-3", "", " 1", "1x", "0x10", "99999999999999999999"})
    EXPECT_EQ(failure_of([text] { number(text, "--rounds", 1, 100); }).what(),
              "--rounds: \"" + std::string(text) + "\" is not a whole number from 1 to 100");
}

}  // namespace
}  // namespace haltpoll::cli
