#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "failure.hpp"
#include "subcommand.hpp"

namespace haltpoll::cli {
namespace {

constexpr const subcommand* subcommands[] = {&doctor_command, &bench_command, &run_command,
                                             &start_command,  &stop_command,  &status_command,
                                             &set_command,    &get_command,   &daemon_command};

/// CLI11's help with the usage line that each subcommand writes itself.
class help_format : public CLI::Formatter {
 public:
  help_format() { column_width(30); }
  std::string make_usage(const CLI::App* app, std::string) const override {
    for (const subcommand* s : subcommands)
      if (app->get_name() == s->name)
        return fmt::format("usage: haltpoll {} {}\n", s->name, s->usage);
    return "usage: haltpoll COMMAND [OPTIONS]\n";
  }
};

std::string names() {
  std::string list;
  for (const subcommand* s : subcommands) list += (list.empty() ? "" : ", ") + std::string(s->name);
  return list;
}

/// Said before CLI11 gets to see the arguments: its own texts for these cases do not say what there
/// is.
void check_command(const std::vector<std::string>& args, const trailing& after) {
  if (args.empty())
    throw failure(exit_code::usage, "no command given", "haltpoll --help; there are " + names());
  const std::string& first = args.front();
  if (first.starts_with("-")) return;
  for (const subcommand* s : subcommands)
    if (first == s->name) {
      if (after.given && !s->takes_command)
        throw failure(exit_code::usage, fmt::format("{} takes no command after --", first));
      return;
    }
  throw failure(exit_code::usage, fmt::format("unknown command \"{}\"", first),
                "there are " + names());
}

std::string hint_for(const std::string& first, const trailing& after) {
  for (const subcommand* s : subcommands) {
    if (first != s->name) continue;
    if (s->takes_command && !after.given) return fmt::format("haltpoll {} {}", first, s->usage);
    return fmt::format("haltpoll {} --help", first);
  }
  return "haltpoll --help";
}

int start(int argc, char** argv) {
  // What follows `--` belongs to the command that is run, not to us.
  trailing after;
  std::vector<std::string> args;
  for (int i = 1; i < argc; ++i) {
    if (!after.given && std::strcmp(argv[i], "--") == 0)
      after.given = true;
    else
      (after.given ? after.words : args).emplace_back(argv[i]);
  }
  check_command(args, after);

  CLI::App app(
      "haltpoll: poll for a short, self-adjusting time before a CPU or a thread goes to sleep.\n",
      "haltpoll");
  app.formatter(std::make_shared<help_format>());
  app.set_help_flag("-h,--help", "this text; after a command: its options");
  app.set_version_flag("--version", "haltpoll " HALTPOLL_VERSION, "the version");
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 success, 64 usage, 65 bad input data, 69 not possible on this machine,\n"
      "77 not permitted, 70 internal error.");
  std::vector<std::pair<CLI::App*, std::function<int()>>> actions;
  for (const subcommand* s : subcommands) {
    CLI::App* sub = app.add_subcommand(s->name, s->description);
    sub->footer("");
    actions.emplace_back(sub, s->declare(*sub, after));
  }
  const std::string hint = hint_for(args.front(), after);
  std::reverse(args.begin(), args.end());  // CLI11 takes them from the back
  try {
    app.parse(args);
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    throw failure(exit_code::usage, e.what(), hint);
  }
  for (const auto& [sub, act] : actions)
    if (sub->parsed()) {
      const int code = act();
      if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
        throw failure(exit_code::internal,
                      fmt::format("standard output: {}", std::strerror(errno)));
      return code;
    }
  return exit_code::internal;
}

}  // namespace
}  // namespace haltpoll::cli

int main(int argc, char** argv) {
  using namespace haltpoll::cli;
  try {
    return start(argc, argv);
  } catch (const failure& f) {
    return report(f);
  } catch (const std::exception& e) {
    return report(failure(exit_code::internal, std::string("internal error: ") + e.what()));
  }
}
