// set and get: settings of the backend that runs.
#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "live.hpp"
#include "refused.hpp"
#include "subcommand.hpp"
#include "terminal.hpp"

namespace haltpoll::cli {
namespace {

int set(const std::vector<std::string>& assignments) {
  const kernel::running r = running_backend();
  set_live(r.settings(), r.cpus(), assignments, kernel::read_guarded_machine().online);
  return 0;
}

struct get_options {
  std::string key;
  bool origin = false;
};

int get(const get_options& o) {
  const kernel::running r = running_backend();
  table rows;
  for (const live_value& v : live_values(r.settings(), r.cpus())) {
    if (!o.key.empty() && o.key != v.key) continue;
    std::vector<std::string> row;
    if (o.key.empty()) row.push_back(v.key);
    row.push_back(v.value);
    if (o.origin) row.push_back(v.origin);
    rows.push_back(row);
  }
  if (rows.empty())
    throw failure(exit_code::usage, fmt::format("get: unknown key \"{}\"", o.key),
                  "haltpoll get lists them");
  fmt::print("{}", layout(rows));
  return 0;
}

std::function<int()> declare_set(CLI::App& app, const trailing&) {
  auto assignments = std::make_shared<std::vector<std::string>>();
  app.add_option("assignments", *assignments,
                 "governor=SPEC, a key of the governor in force, or a setting that get lists")
      ->required()
      ->option_text("KEY=VALUE...");
  return [assignments] { return set(*assignments); };
}

std::function<int()> declare_get(CLI::App& app, const trailing&) {
  auto o = std::make_shared<get_options>();
  app.add_option("key", o->key, "only this one, without its name")->option_text("KEY");
  app.add_flag("--origin", o->origin,
               "where each value came from: default, file:line, variable, flag, set");
  return [o] { return get(*o); };
}

}  // namespace

const subcommand set_command = {
    "set", "KEY=VALUE...", false,
    "change settings of the kernel backend while it runs, all of them or none", declare_set};
const subcommand get_command = {"get", "[KEY] [--origin]", false,
                                "settings of the kernel backend that runs", declare_get};

}  // namespace haltpoll::cli
