// start, daemon, stop: the life of the kernel backend.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "live.hpp"
#include "refused.hpp"
#include "subcommand.hpp"

namespace haltpoll::cli {
namespace {

/// What the daemon says once it polls.
std::string polling_line(const kernel::backend& b) {
  const kernel::control& c = b.settings();
  u32 polling = 0;
  const kernel::cpu_list online = kernel::read_guarded_machine().online;
  for (const u32 cpu : online)
    if (cpu < b.cpus().size() && (b.cpus()[cpu].guards & kernel::guard::excluded) == 0) ++polling;
  const std::string flag = c.polling_flag != 0 ? fmt::format("polling flag {:#x}", c.polling_flag)
                                               : "no polling flag: wakes still send interrupts";
  return fmt::format("polling on {} of {} CPUs: {}/{}, need_resched {:#x}, {}; pid {}", polling,
                     online.size(), kernel::name_of(b.entry_hook()), kernel::idle_function,
                     c.need_resched, flag, ::getpid());
}

int run_foreground(const start_settings& s) {
  std::optional<kernel::refusal> refused;
  const int code = kernel::run_daemon(s.options, [&](const auto& r) {
    if (const auto* no = std::get_if<kernel::refusal>(&r)) {
      refused = *no;
      return;
    }
    const kernel::backend* b = std::get<const kernel::backend*>(r);
    remember_start(b->settings(), s);
    fmt::print("haltpoll: {}\n", polling_line(*b));
    std::fflush(stdout);
  });
  if (refused) throw failure_of(*refused);
  return code;
}

/// The report of the daemon to who started it: exit code, then texts, each with a zero byte at its end.
std::string packed(int code, const std::vector<std::string>& texts) {
  std::string all = std::to_string(code) + '\0';
  for (const std::string& t : texts) all += t + '\0';
  return all;
}
std::vector<std::string> unpacked(const std::string& all) {
  std::vector<std::string> texts;
  for (std::size_t at = 0, end = 0; (end = all.find('\0', at)) != std::string::npos; at = end + 1)
    texts.push_back(all.substr(at, end - at));
  return texts;
}

/// In the child: a daemon that reports through `to` and lets go of the terminal.
[[noreturn]] void become_daemon(const start_settings& s, int to) {
  ::setsid();
  const int code = kernel::run_daemon(s.options, [&](const auto& r) {
    std::string report;
    if (const auto* no = std::get_if<kernel::refusal>(&r)) {
      report = packed(no->exit_code, {no->what, no->detail, no->hint});
    } else {
      const kernel::backend* b = std::get<const kernel::backend*>(r);
      remember_start(b->settings(), s);
      report = packed(0, {polling_line(*b)});
    }
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3 && null >= 0; ++fd) ::dup2(null, fd);
    if (null > 2) ::close(null);
    if (::chdir("/") != 0) ::_exit(exit_code::internal);
    // Below PIPE_BUF; a reader that is gone is no reason to end.
    (void)!::write(to, report.data(), report.size());
    ::close(to);
  });
  ::_exit(code);
}

int start(const start_settings& s) {
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0)
    throw failure(exit_code::internal, fmt::format("start: pipe: {}", std::strerror(errno)));
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child < 0)
    throw failure(exit_code::internal, fmt::format("start: fork: {}", std::strerror(errno)));
  if (child == 0) {
    ::close(report[0]);
    std::signal(SIGPIPE, SIG_IGN);
    become_daemon(s, report[1]);
  }
  ::close(report[1]);
  std::string all;
  char piece[512];
  for (ssize_t n = 0; (n = ::read(report[0], piece, sizeof piece)) != 0;) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    all.append(piece, static_cast<std::size_t>(n));
  }
  ::close(report[0]);
  const std::vector<std::string> texts = unpacked(all);
  if (texts.size() == 2) {
    fmt::print("{}\n", texts[1]);
    return 0;
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (texts.size() == 4) throw failure_of({std::stoi(texts[0]), texts[1], texts[2], texts[3]});
  throw failure(
      exit_code::internal,
      fmt::format("start: the daemon ended without a report (wait status {:#x})", status));
}

int stop() {
  const auto pid = kernel::daemon_pid();
  bool was_running = false;
  if (const auto no = kernel::stop_daemon(was_running)) throw failure_of(*no);
  if (was_running)
    fmt::print("stopped (pid {})\n", pid.value_or(0));
  else
    fmt::print("not running\n");
  return 0;
}

std::function<int()> declare(CLI::App& app, int (*act)(const start_settings&)) {
  auto flags = std::make_shared<layer>();
  const auto to = [](std::optional<setting<std::string>>& field, const char* flag) {
    return [&field, flag](const std::string& value) { field = {value, flag}; };
  };
  app.add_option_function<std::string>(
         "--governor", to(flags->governor, "--governor"),
         "NAME[:KEY=VALUE,...], how long to poll; default: configuration, else haltpoll")
      ->option_text("SPEC");
  app.add_option_function<std::string>(
         "--window-ns", to(flags->window_ns, "--window-ns"),
         "always poll for N ns: short for --governor fixed:window_ns=N")
      ->option_text("N");
  for (const kernel_setting& k : kernel_settings()) {
    const char* const text = k.kind == value_kind::boolean  ? "true|false"
                             : k.kind == value_kind::number ? "N"
                                                            : "LIST";
    app.add_option_function<std::string>(
           flag_of(k),
           [flags, &k](const std::string& value) {
             flags->kernel[k.name] = {value, flag_of(k)};
           },
           k.help)
        ->option_text(text);
  }
  return [flags, act] { return act(effective_start_settings(*flags)); };
}

}  // namespace

const subcommand start_command = {
    "start", "[--governor SPEC] [--SETTING VALUE]...", false,
    "poll in the kernel's idle loop, for every program on this machine, until haltpoll stop",
    [](CLI::App& app, const trailing&) { return declare(app, start); }};

const subcommand daemon_command = {
    "daemon", "[--governor SPEC] [--SETTING VALUE]...", false,
    "the same in the foreground, for a service manager (sd_notify)",
    [](CLI::App& app, const trailing&) { return declare(app, run_foreground); }};

const subcommand stop_command = {
    "stop", "", false, "end it; returns when the kernel is as it was",
    [](CLI::App&, const trailing&) -> std::function<int()> { return stop; }};

}  // namespace haltpoll::cli
