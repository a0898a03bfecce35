#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <haltpoll/bench/report.hpp>
#include <nlohmann/json.hpp>

#include "report_page.hpp"

namespace haltpoll::bench {
namespace {

using json = nlohmann::ordered_json;

enum class kind { text, count, positive, ratio_or_null };

struct key {
  const char* name;
  kind what;
};

constexpr key result_keys[] = {
    {"workload", kind::text}, {"placement", kind::text}, {"backend", kind::text},
    {"round", kind::count},   {"ops", kind::count},      {"p50_ns", kind::count},
    {"p99_ns", kind::count},  {"mean_ns", kind::count},  {"cpu_ns_per_op", kind::count},
    {"halts", kind::count},   {"polls", kind::count},    {"hits", kind::count},
};
constexpr key failed_result_keys[] = {{"workload", kind::text},
                                      {"placement", kind::text},
                                      {"backend", kind::text},
                                      {"error", kind::text}};
constexpr key failed_comparison_keys[] = {{"workload", kind::text},
                                          {"placement", kind::text},
                                          {"baseline", kind::text},
                                          {"candidate", kind::text},
                                          {"error", kind::text}};
// A ratio to a baseline that used no CPU at all does not exist: null.
constexpr key comparison_keys[] = {
    {"workload", kind::text},  {"placement", kind::text},          {"baseline", kind::text},
    {"candidate", kind::text}, {"cpu_ratio", kind::ratio_or_null},
};
// Positive: the page draws these on logarithmic axes.
constexpr key speedup_keys[] = {
    {"median", kind::positive}, {"low", kind::positive}, {"high", kind::positive}};
constexpr key curve_keys[] = {{"idle_ns", kind::positive},
                              {"wake_p50_ns", kind::positive},
                              {"wake_p90_ns", kind::positive},
                              {"wake_p99_ns", kind::positive}};
constexpr key value_keys[] = {{"baseline_value", kind::positive},
                              {"candidate_value", kind::positive}};
constexpr key part_keys[] = {{"name", kind::text}, {"per_second", kind::positive}};

const char* expected(kind what) {
  switch (what) {
    case kind::text: return "a string";
    case kind::count: return "a number, 0 or more";
    case kind::positive: return "a number above 0";
    case kind::ratio_or_null: return "a number, 0 or more, or null";
  }
  return "";
}

bool holds(const json& value, kind what) {
  if (what == kind::text) return value.is_string();
  if (what == kind::ratio_or_null && value.is_null()) return true;
  if (!value.is_number()) return false;
  const double number = value.get<double>();
  return std::isfinite(number) && (what == kind::positive ? number > 0 : number >= 0);
}

/// Empty: the object has every key, each as the page needs it.
template <std::size_t N>
std::string check_object(const json& object, const key (&keys)[N], const std::string& where) {
  if (!object.is_object()) return where + ": not an object";
  for (const key& wanted : keys) {
    const auto at = object.find(wanted.name);
    if (at == object.end()) return where + "." + wanted.name + ": missing";
    if (!holds(*at, wanted.what)) {
      return where + "." + wanted.name + ": must be " + expected(wanted.what);
    }
  }
  return {};
}

/// Empty: `owner[name]` is an array and `check(row, where)` had nothing against any row.
template <class Check>
std::string check_rows(const json& owner, const char* name, const std::string& prefix,
                       Check check) {
  const auto at = owner.find(name);
  if (at == owner.end()) return prefix + name + ": missing";
  if (!at->is_array()) return prefix + name + ": not an array";
  for (std::size_t i = 0; i < at->size(); ++i) {
    if (auto wrong = check((*at)[i], prefix + name + "[" + std::to_string(i) + "]");
        !wrong.empty()) {
      return wrong;
    }
  }
  return {};
}

std::string check_curve(const json& row, const std::string& where) {
  if (auto wrong = check_object(row, curve_keys, where); !wrong.empty()) return wrong;
  if (row.contains("backend") && !row["backend"].is_string()) {
    return where + ".backend: must be a string";
  }
  return {};
}

/// The runner says why there is no figure; the page then shows that in its place.
bool failed(const json& row) { return row.is_object() && row.contains("error"); }

std::string check_result(const json& row, const std::string& where) {
  if (failed(row)) return check_object(row, failed_result_keys, where);
  if (auto wrong = check_object(row, result_keys, where); !wrong.empty()) return wrong;
  const std::string inside = where + ".";
  if (row.contains("curve")) {
    if (auto wrong = check_rows(row, "curve", inside, check_curve); !wrong.empty()) return wrong;
  }
  if (!row.contains("parts")) return {};
  return check_rows(row, "parts", inside, [](const json& part, const std::string& place) {
    return check_object(part, part_keys, place);
  });
}

std::string check_comparison(const json& row, const std::string& where) {
  if (failed(row)) return check_object(row, failed_comparison_keys, where);
  if (auto wrong = check_object(row, comparison_keys, where); !wrong.empty()) return wrong;
  if (!row.contains("speedup")) return where + ".speedup: missing";
  const json& speedup = row["speedup"];
  if (auto wrong = check_object(speedup, speedup_keys, where + ".speedup"); !wrong.empty()) {
    return wrong;
  }
  const double low = speedup["low"], median = speedup["median"], high = speedup["high"];
  if (low > median || median > high) return where + ".speedup: must be low <= median <= high";
  return row.value("metric", json()) == "ops_per_second" ? check_object(row, value_keys, where)
                                                         : std::string();
}

std::string check_bench(const json& bench) {
  if (!bench.is_object()) return "not an object";
  if (bench.value("schema", json()) != "haltpoll.bench/1") {
    return "schema: must be \"haltpoll.bench/1\"";
  }
  if (!bench.contains("machine")) return "machine: missing";
  if (!bench["machine"].is_object()) return "machine: not an object";
  if (auto wrong = check_rows(bench, "results", "", check_result); !wrong.empty()) return wrong;
  if (auto wrong = check_rows(bench, "comparisons", "", check_comparison); !wrong.empty()) {
    return wrong;
  }
  return bench.contains("curve") ? check_rows(bench, "curve", "", check_curve) : std::string();
}

/// JSON that may stand inside <script>: ASCII only (so no U+2028), and no character that HTML's
/// script states look for. Those stand only within JSON strings, where \u escapes mean the same.
std::string script_safe(const json& value) {
  const std::string plain = value.dump(-1, ' ', true, json::error_handler_t::replace);
  std::string safe;
  safe.reserve(plain.size());
  for (const char c : plain) {
    switch (c) {
      case '<': safe += "\\u003c"; break;
      case '>': safe += "\\u003e"; break;
      case '&': safe += "\\u0026"; break;
      default: safe += c;
    }
  }
  return safe;
}

std::string because(int error) { return std::string(": ") + std::strerror(error); }

/// 0, or errno.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return fsync(fd) == 0 ? 0 : errno;
}

}  // namespace

std::variant<std::string, report_error> report_html(const nlohmann::ordered_json& bench) {
  if (auto wrong = check_bench(bench); !wrong.empty()) return report_error{"bench JSON: " + wrong};
  std::string page(report_page_before);
  page += script_safe(bench);
  page += report_page_after;
  return page;
}

std::optional<report_error> write_report(const std::string& path, std::string_view page) {
  std::string target = path;
  struct stat there;
  if (stat(path.c_str(), &there) == 0) {
    if (!S_ISREG(there.st_mode)) return report_error{path + ": not a regular file"};
    char* real = realpath(path.c_str(), nullptr);
    if (!real) return report_error{path + because(errno)};
    target = real;
    std::free(real);
  } else if (errno != ENOENT) {
    return report_error{path + because(errno)};
  }
  // Not mkstemp: its files are for their owner only, and a report is made to be passed on.
  const std::string temporary = target + "." + std::to_string(getpid()) + ".part";
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return report_error{temporary + ": cannot create" + because(errno)};
  int error = write_all(fd, page);
  if (close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return std::nullopt;
  unlink(temporary.c_str());
  return report_error{path + ": cannot write" + because(error)};
}

}  // namespace haltpoll::bench
