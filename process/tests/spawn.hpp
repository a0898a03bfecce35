#pragma once
// spawn: runs a small real program with and without the preload library and collects what came of
// it.
//
// The programs are built without sanitizers in every preset (a preloaded library comes before the
// sanitizer's runtime, which that refuses), so these tests mean the same everywhere. Cross-built,
// they run under the emulator.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <haltpoll/process/launch.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace haltpoll::process::test {

struct finished {
  int status = -1;  ///< as of waitpid
  std::string out;
  std::string err;
  stats_totals stats{};
};

inline std::string contents(int fd) {
  std::string all;
  char part[4096];
  lseek(fd, 0, SEEK_SET);
  for (ssize_t n = 0; (n = read(fd, part, sizeof part)) > 0;)
    all.append(part, static_cast<std::size_t>(n));
  return all;
}

inline std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> all;
  for (std::string w; in >> w;) all.push_back(w);
  return all;
}

/// A name that GoogleTest takes.
inline std::string identifier(std::string name) {
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
}

/// A window as long as can be: what is meant to happen while polling does.
inline constexpr const char* longest_window = "fixed:window_ns=1000000";

/// Runs `command` with the library and `governor`; without the library if `governor` is null.
/// Counts in a page of our own unless `stats_path` says otherwise.
inline finished run(const std::vector<std::string>& command, const char* governor,
                    const std::string& stats_path = "") {
  stats_memory stats;
  std::vector<std::string> environment;
  if (governor != nullptr)
    environment = preload_environment(PRELOAD_LIBRARY, governor,
                                      stats_path.empty() ? stats.path() : stats_path);
  const int out = memfd_create("out", 0);
  const int err = memfd_create("err", 0);
  std::vector<std::string> arguments = words(TEST_EMULATOR);
  if (!arguments.empty())
    for (const std::string& e : environment) arguments.insert(arguments.end(), {"-E", e});
  arguments.insert(arguments.end(), command.begin(), command.end());
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    if (words(TEST_EMULATOR).empty())
      for (std::string& e : environment) putenv(e.data());
    execvp(argv[0], argv.data());
    _exit(127);
  }
  finished f;
  waitpid(child, &f.status, 0);
  f.out = contents(out);
  f.err = contents(err);
  f.stats = sum(stats.page());
  close(out);
  close(err);
  return f;
}

}  // namespace haltpoll::process::test
