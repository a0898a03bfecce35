#include <fmt/chrono.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <haltpoll/bench/report.hpp>
#include <haltpoll/bench/runner.hpp>
#include <nlohmann/json.hpp>

#include "config.hpp"
#include "live.hpp"
#include "refused.hpp"
#include "subcommand.hpp"
#include "terminal.hpp"

namespace haltpoll::cli {
namespace {

constexpr core::u64 most_rounds = 100;  // 100 rounds of one workload take a minute

struct options {
  std::vector<std::string> workloads;
  std::string backends = "auto", rounds = "7", json, report;
  layer flags;
};

constexpr const char* known_backends[] = {"off", "process", "kernel"};

template <class Range, class Name>
std::string list(const Range& range, Name name) {
  std::string all;
  for (const auto& item : range) all += (all.empty() ? "" : ", ") + std::string(name(item));
  return all;
}

void check_workloads(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto known = bench::workloads();
    if (std::none_of(known.begin(), known.end(), [&name](const auto& w) { return name == w.name; }))
      throw failure(exit_code::usage, fmt::format("unknown workload \"{}\"", name),
                    "there are " + list(known, [](const auto& w) { return w.name; }));
  }
}

/// "off,process"; `auto`: the baseline and everything this machine lets us compare with it.
std::vector<std::string> parse_backends(const std::string& text) {
  if (text == "auto") return {"off", "process"};
  std::vector<std::string> names;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    names.push_back(text.substr(at, comma - at));
    at = comma + 1;
    if (std::none_of(std::begin(known_backends), std::end(known_backends),
                     [&](const char* k) { return names.back() == k; }))
      throw failure(
          exit_code::usage, fmt::format("--backends: unknown backend \"{}\"", names.back()),
          "there are " + list(known_backends, [](const char* k) { return k; }) + ", or auto");
  }
  if (names.size() < 2)
    throw failure(exit_code::usage, fmt::format("--backends: {} alone compares with nothing", text),
                  "name the baseline first: --backends off,process");
  return names;
}

/// Before a run of minutes, not after it. The file is written beside its place and renamed, so it
/// is the directory that counts.
void check_writable(const std::string& flag, const std::string& path) {
  if (path.empty()) return;
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    throw failure(exit_code::usage, fmt::format("{}: {} is not a regular file", flag, path));
  const std::string directory = std::filesystem::path(path).parent_path();
  const int error = access(directory.empty() ? "." : directory.c_str(), W_OK) == 0 ? 0 : errno;
  if (error != 0)
    throw failure(error == EACCES || error == EROFS ? exit_code::not_permitted : exit_code::usage,
                  fmt::format("{}: cannot write {}: {}", flag, path, std::strerror(error)));
}

void save(const std::string& flag, const std::string& path, const std::string& text) {
  if (const auto error = bench::write_report(path, text))
    throw failure(exit_code::internal, fmt::format("{}: {}", flag, error->what));
}

/// What the page says about the run beyond its figures.
std::string command_line(const options& o) {
  std::string text = "haltpoll bench";
  for (const std::string& w : o.workloads) text += " " + w;
  return text + fmt::format(" --backends {} --rounds {}", o.backends, o.rounds);
}

std::string page_of(const std::string& json_text, const options& o) {
  auto bench = nlohmann::ordered_json::parse(json_text);
  bench["date"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  bench["command"] = command_line(o);
  auto page = bench::report_html(bench);
  if (const auto* error = std::get_if<bench::report_error>(&page))
    throw failure(exit_code::internal, "--report: " + error->what);
  return std::get<std::string>(page);
}

int execute(const options& o) {
  bench::options b;
  check_workloads(o.workloads);
  b.workloads = o.workloads;
  b.backends = parse_backends(o.backends);
  b.rounds = static_cast<core::u32>(number(o.rounds, "--rounds", 1, most_rounds));
  b.governor = effective_governor(o.flags).value.spec;
  const bool json_only = o.json == "-";
  if (!json_only) check_writable("--json", o.json);
  check_writable("--report", o.report);

  progress shown;
  b.on_progress = [&shown](const bench::progress& p) {
    shown.say(fmt::format("{}, {}: sample {} of {}", p.workload, p.arm, p.done, p.total));
  };
  // A daemon that polls meanwhile would be in every arm.
  if (std::count(b.backends.begin(), b.backends.end(), "kernel") > 0 || kernel::daemon_pid()) {
    auto attached = bench::attach_kernel(effective_governor(o.flags).value.params);
    if (const auto* no = std::get_if<kernel::refusal>(&attached)) throw failure_of(*no);
    b.kernel = std::get<std::shared_ptr<bench::kernel_switch>>(attached);
    b.governor = full_spec(b.kernel->governor());
  }
  auto planned = bench::make_plan(b);
  if (const auto* problem = std::get_if<std::string>(&planned))
    throw failure(exit_code::not_possible, *problem);
  const bench::report found = bench::run(std::get<bench::plan>(planned));
  shown.done();

  const std::string json = bench::to_json(found);
  fmt::print("{}", json_only ? json : bench::to_table(found));
  if (!json_only && !o.json.empty()) save("--json", o.json, json);
  if (!o.report.empty()) save("--report", o.report, page_of(json, o));
  return found.failed() ? exit_code::not_possible : 0;
}

std::function<int()> declare(CLI::App& app, const trailing&) {
  auto o = std::make_shared<options>();
  app.add_option("workload", o->workloads, "default: those that take about two minutes together")
      ->option_text(" ");
  app.add_option("--backends", o->backends,
                 "arms to compare, baseline first, of off, process, kernel; auto: off,process")
      ->option_text("LIST");
  app.add_option("--rounds", o->rounds,
                 fmt::format("1 to {}; default 7, of which the median counts", most_rounds))
      ->option_text("N");
  app.add_option_function<std::string>(
         "--governor",
         [o](const std::string& v) {
           o->flags.governor = {v, "--governor"};
         },
         "NAME[:KEY=VALUE,...] of the process arm; default: configuration, else haltpoll")
      ->option_text("SPEC");
  app.add_option("--json", o->json,
                 "write everything measured (haltpoll.bench/1); - prints it instead of the table")
      ->option_text("FILE|-");
  app.add_option("--report", o->report, "write a page to look at")->option_text("FILE.html");
  app.footer("Workloads:\n" + list(bench::workloads(), [](const auto& w) { return w.name; }) +
             "\nArms alternate A B B A; the speed-up is the median of the ratios within a round. "
             "69: something asked for\n"
             "could not be measured here; the table says what.");
  return [o] { return execute(*o); };
}

}  // namespace

const subcommand bench_command = {"bench",
                                  "[WORKLOAD...] [--backends LIST] [--rounds N] [--governor SPEC] "
                                  "[--json FILE|-] [--report FILE.html]",
                                  false, "measure workloads with and without polling", declare};

}  // namespace haltpoll::cli
