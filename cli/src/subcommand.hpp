#pragma once
// cli: the haltpoll command: reads arguments, calls the rooms below, prints.
//
// One file per subcommand; options are documented where they are declared. The room must not
// measure or decide what a room below could, and nothing below it prints. Errors are thrown as
// `failure` and printed in one place.
//
// subcommand: what main() needs to know of each.
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace haltpoll::cli {

/// Everything after the first `--`, untouched; `given` tells `haltpoll run --` from `haltpoll run`.
struct trailing {
  bool given = false;
  std::vector<std::string> words;
};

struct subcommand {
  const char* name;
  const char* usage;        ///< what follows the name on the usage line
  bool takes_command;       ///< a command line of its own may follow `--`
  const char* description;  ///< one line
  /// Declares the options on `app` and returns what to do once they are parsed: that returns the
  /// exit code or throws `failure`.
  std::function<int()> (*declare)(CLI::App& app, const trailing& after);
};

extern const subcommand doctor_command, bench_command, run_command, start_command, daemon_command,
    stop_command, status_command, set_command, get_command;

}  // namespace haltpoll::cli
