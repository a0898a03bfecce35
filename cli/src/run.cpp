#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <haltpoll/process/launch.hpp>

#include "config.hpp"
#include "subcommand.hpp"
#include "terminal.hpp"

namespace haltpoll::cli {
namespace {

struct options {
  layer flags;
  bool stats = false;
};

/// argv of the command; points into `words`.
std::vector<char*> argv_of(std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  return argv;
}

[[noreturn]] void cannot_start(const std::string& command, int error) {
  throw failure(error == EACCES || error == EPERM ? exit_code::not_permitted : exit_code::usage,
                fmt::format("{}: {}", command, std::strerror(error)));
}

// Signals that somebody may send to us and mean for the command. Stops (SIGTSTP) are not among
// them: the terminal sends those to both, and both should stop.
constexpr int forwarded[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
                             SIGUSR2, SIGALRM, SIGCONT, SIGWINCH};

/// Waits for `child`, passing on what is sent to us; returns the exit code a shell would.
int wait_for(pid_t child, const sigset_t& watched) {
  for (;;) {
    siginfo_t info{};
    const int signal = sigwaitinfo(&watched, &info);
    if (signal < 0) continue;  // EINTR by a stop and continue
    if (signal != SIGCHLD) {
      // From a terminal (si_code > 0) the whole process group has it already.
      if (info.si_code <= 0) kill(child, signal);
      continue;
    }
    int status = 0;
    if (waitpid(child, &status, WNOHANG) != child) continue;
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
  }
}

void print_stats(const process::stats_totals& t, const setting<governor>& g) {
  table rows;
  const auto row = [&rows](const char* what, const std::string& figure,
                           const std::string& note = "") {
    rows.push_back({what, figure, note});
  };
  row("governor", g.value.spec, "from " + g.origin);
  row("polls", fmt::format("{}", t.polls),
      t.polls == 0 ? "nothing it did waits in a call we see" : "");
  row("  hits", fmt::format("{}", t.hits),
      t.polls == 0 ? ""
                   : fmt::format("{:.1f} %", 100.0 * static_cast<double>(t.hits) /
                                                 static_cast<double>(t.polls)));
  row("  misses", fmt::format("{}", t.polls - t.hits - t.contended));
  row("  contended", fmt::format("{}", t.contended), "given up: the CPU was needed");
  row("polled time", duration(t.polled_ns));
  row("blocks", fmt::format("{}", t.blocks),
      fmt::format("{} without a poll: backed off", t.backed_off));
  row("blocked time", duration(t.block_ns));
  fmt::print(stderr, "haltpoll: what polling did\n{}", layout(rows, "  "));
}

int run_with_stats(std::vector<std::string>& command, process::stats_memory& memory,
                   const setting<governor>& g) {
  // Blocked before the command starts, so that no signal falls into the gap; the command gets the
  // old mask.
  sigset_t watched, before;
  sigemptyset(&watched);
  sigaddset(&watched, SIGCHLD);
  for (int s : forwarded) sigaddset(&watched, s);
  sigprocmask(SIG_BLOCK, &watched, &before);
  // An ignored SIGCHLD, inherited from the caller, would take the exit status away.
  std::signal(SIGCHLD, SIG_DFL);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &before);
  pid_t child = 0;
  const std::vector<char*> argv = argv_of(command);
  const int error = posix_spawnp(&child, argv[0], nullptr, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) cannot_start(command[0], error);
  const int code = wait_for(child, watched);
  print_stats(process::sum(memory.page()), g);
  return code;
}

int execute(const options& o, const trailing& after) {
  if (after.words.empty())
    throw failure(exit_code::usage, "run: no command given", "haltpoll run -- COMMAND...");
  std::vector<std::string> command = after.words;
  const setting<governor> g = effective_governor(o.flags);

  const process::verdict v = process::examine(command[0]);
  if (!v.problem.empty()) throw failure(v.exit_code, v.problem, v.hint);
  std::vector<std::string> looked_at;
  const std::string library = process::preload_library(&looked_at);
  if (library.empty())
    throw failure(exit_code::not_possible, "libhaltpoll_preload.so is not there; looked at",
                  "HALTPOLL_PRELOAD_LIBRARY names it elsewhere", looked_at);

  std::optional<process::stats_memory> memory;
  if (o.stats && !memory.emplace().ok())
    throw failure(exit_code::not_possible,
                  fmt::format("--stats: no memory to count in: {}", std::strerror(errno)));
  for (const std::string& variable :
       process::preload_environment(library, g.value.spec, memory ? memory->path() : "")) {
    const auto equals = variable.find('=');
    setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
  }
  if (memory) return run_with_stats(command, *memory, g);
  execvp(command[0].c_str(), argv_of(command).data());
  cannot_start(command[0], errno);
}

std::function<int()> declare(CLI::App& app, const trailing& after) {
  auto o = std::make_shared<options>();
  const auto to = [](std::optional<setting<std::string>>& field, const char* flag) {
    return [&field, flag](const std::string& value) { field = {value, flag}; };
  };
  app.add_option_function<std::string>(
         "--governor", to(o->flags.governor, "--governor"),
         "NAME[:KEY=VALUE,...], how long to poll; default: configuration, else haltpoll")
      ->option_text("SPEC");
  app.add_option_function<std::string>(
         "--window-ns", to(o->flags.window_ns, "--window-ns"),
         "always poll for N ns: short for --governor fixed:window_ns=N")
      ->option_text("N");
  app.add_flag("--stats", o->stats,
               "print what polling did on standard error when the command has ended");
  app.footer(
      "Without --stats the command takes the place of haltpoll (same process id). Its exit code is "
      "passed on;\n"
      "with --stats 128 + N after signal N. 64: command not found; 69: it cannot be polled for "
      "(static, Go,\n"
      "set-uid).");
  return [o, &after] { return execute(*o, after); };
}

}  // namespace

const subcommand run_command = {
    "run", "[--governor SPEC] [--window-ns N] [--stats] -- COMMAND...", true,
    "run one unmodified command; its blocking calls poll before they block", declare};

}  // namespace haltpoll::cli
