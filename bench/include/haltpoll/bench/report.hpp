#pragma once
// report: the page that shows one bench run to a person.
//
// It makes one HTML file that needs nothing else, no network and no font, from what `haltpoll bench
// --json` holds. It must not measure, must not print and must not compute a comparison: speed-ups
// and spreads are the runner's; the page shows them and the medians of the results beside them.
// The page's sources are in bench/report/, put together at build time (bench/report/embed.cmake).
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace haltpoll::bench {

/// Why there is no page: one line that names the place and what is wrong with it.
struct report_error {
  std::string what;
};

/// The page for a bench run, schema `haltpoll.bench/1`: `machine`, `results[]`, `comparisons[]`,
/// and where there are any `curve[]` (its rows may name their `backend`) and the runner's own facts
/// (`date`, `rounds`, `command`). Every key the page computes with is checked for presence, type
/// and range; the rest is shown as it is. Strings are untrusted: none can become markup or script.
std::variant<std::string, report_error> report_html(const nlohmann::ordered_json& bench);

/// Writes `page` to `path`, whole or not at all: into a file beside it, then renamed over it. A
/// symbolic link is followed; anything but a regular file is refused. Returns what failed and
/// where.
std::optional<report_error> write_report(const std::string& path, std::string_view page);

}  // namespace haltpoll::bench
