#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <haltpoll/bench/report.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

namespace haltpoll::bench {
namespace {

using json = nlohmann::ordered_json;
namespace fs = std::filesystem;

json sample() {
  std::ifstream in(BENCH_SAMPLE);
  return json::parse(in);
}

std::string page_of(const json& bench) {
  const auto made = report_html(bench);
  if (const auto* error = std::get_if<report_error>(&made)) ADD_FAILURE() << error->what;
  return made.index() == 0 ? std::get<std::string>(made) : std::string();
}

std::string error_of(const json& bench) {
  const auto made = report_html(bench);
  return made.index() == 1 ? std::get<report_error>(made).what : "no error";
}

std::string contents(const fs::path& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// What stands between the JSON element's tags.
std::string embedded(const std::string& page) {
  const std::string open = R"(<script type="application/json" id="bench">)";
  const auto from = page.find(open) + open.size();
  return page.substr(from, page.find("</script", from) - from);
}

TEST(report_html, holds_everything_itself) {
  const std::string page = page_of(sample());
  EXPECT_EQ(page.rfind("<!doctype html>", 0), 0u);
  // Nothing that a browser would fetch, relative or absolute, and a policy that forbids it.
  EXPECT_FALSE(
      std::regex_search(page, std::regex(R"((src|href|srcset|action)\s*=\s*["']?[\w./])")));
  EXPECT_FALSE(std::regex_search(page, std::regex(R"(url\(|@import|<link|<img|<iframe)")));
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(page.find("Copyright (c) 2022 Leon Sorokin"), std::string::npos);
  EXPECT_NE(page.find("var uPlot="), std::string::npos);
  EXPECT_FALSE(std::regex_search(page, std::regex("@[A-Z_]+@"))) << "an unfilled placeholder";
}

TEST(report_html, embeds_the_run_unchanged) {
  EXPECT_EQ(json::parse(embedded(page_of(sample()))), sample());
}

TEST(report_html, strings_cannot_leave_the_json) {
  const std::string hostile =
      "</script><script>alert(1)</script><!--<script>\xe2\x80\xa8\xe2\x80\xa9&lt;\"'`]]>";
  json bench = sample();
  bench["machine"]["model"] = hostile;
  bench["machine"][hostile] = hostile;
  bench["results"][0]["workload"] = hostile;
  const std::string page = page_of(bench), data = embedded(page);
  EXPECT_EQ(json::parse(data), bench);
  EXPECT_EQ(data.find_first_of("<>&"), std::string::npos);
  EXPECT_TRUE(std::all_of(data.begin(), data.end(), [](char c) { return c >= ' ' && c <= '~'; }));
}

TEST(report_html, shows_bytes_that_are_no_text_as_such) {
  json bench = sample();
  bench["machine"]["model"] = "\xff\xfe";
  EXPECT_NE(embedded(page_of(bench)).find("\\ufffd"), std::string::npos);
}

TEST(report_html, names_what_is_missing) {
  for (const char* path : {"/schema", "/machine", "/results", "/comparisons", "/results/3/p50_ns",
                           "/results/3/backend", "/results/3/hits", "/comparisons/1/baseline",
                           "/comparisons/1/speedup", "/comparisons/1/speedup/low",
                           "/comparisons/1/cpu_ratio", "/curve/2/wake_p99_ns"}) {
    json bench = sample();
    const json::json_pointer at(path);
    bench[at.parent_pointer()].erase(at.back());
    std::string place = std::regex_replace(path + 1, std::regex("/(\\d+)"), "[$1]");
    place = std::regex_replace(place, std::regex("/"), ".");
    EXPECT_EQ(error_of(bench).rfind("bench JSON: " + place + ": ", 0), 0u) << error_of(bench);
  }
}

TEST(report_html, names_what_it_cannot_draw) {
  const struct {
    const char* path;
    json value;
    const char* error;
  } cases[] = {
      {"/schema", "haltpoll.bench/2", "schema: must be \"haltpoll.bench/1\""},
      {"/machine", 1, "machine: not an object"},
      {"/results", json::object(), "results: not an array"},
      {"/results/0", 7, "results[0]: not an object"},
      {"/results/0/ops", -1, "results[0].ops: must be a number, 0 or more"},
      {"/results/0/workload", 5, "results[0].workload: must be a string"},
      {"/results/0/parts", 5, "results[0].parts: not an array"},
      {"/comparisons/0/speedup/median", 0,
       "comparisons[0].speedup.median: must be a number above 0"},
      {"/comparisons/0/speedup/low", 99, "comparisons[0].speedup: must be low <= median <= high"},
      {"/comparisons/0/cpu_ratio", std::numeric_limits<double>::infinity(),
       "comparisons[0].cpu_ratio: must be a number, 0 or more, or null"},
      {"/comparisons/0/metric", "ops_per_second", "comparisons[0].baseline_value: missing"},
      {"/curve/0/idle_ns", 0, "curve[0].idle_ns: must be a number above 0"},
      {"/curve/0/backend", 1, "curve[0].backend: must be a string"},
  };
  for (const auto& c : cases) {
    json bench = sample();
    bench[json::json_pointer(c.path)] = c.value;
    EXPECT_EQ(error_of(bench), std::string("bench JSON: ") + c.error);
  }
  EXPECT_EQ(error_of(json::array()), "bench JSON: not an object");
}

TEST(report_html, takes_errors_in_place_of_figures) {
  json bench = sample();
  bench["results"] = {
      {{"workload", "w"}, {"placement", "p"}, {"backend", "off"}, {"round", 1}, {"error", "why"}}};
  bench["comparisons"] = {{{"workload", "w"},
                           {"placement", "p"},
                           {"baseline", "off"},
                           {"candidate", "process"},
                           {"error", "why"}}};
  EXPECT_NE(page_of(bench), "");
  bench["results"][0].erase("backend");
  EXPECT_EQ(error_of(bench), "bench JSON: results[0].backend: missing");
}

TEST(report_html, takes_an_empty_run) {
  EXPECT_NE(page_of({{"schema", "haltpoll.bench/1"},
                     {"machine", json::object()},
                     {"results", json::array()},
                     {"comparisons", json::array()}}),
            "");
}

class write_report_test : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "report_test.XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory = name;
  }
  void TearDown() override { fs::remove_all(directory); }

  std::string error_writing(const fs::path& file) {
    const auto error = write_report(file, "page");
    return error ? error->what : "no error";
  }
  long files() const { return std::distance(fs::directory_iterator(directory), {}); }

  fs::path directory;
};

TEST_F(write_report_test, creates_and_replaces) {
  const fs::path file = directory / "report.html";
  for (const std::string& page : {std::string(300000, 'x'), std::string("short")}) {
    ASSERT_FALSE(write_report(file, page));
    EXPECT_EQ(contents(file), page);
  }
  EXPECT_EQ(files(), 1) << "the temporary file is gone";
  const mode_t mask = umask(0);
  umask(mask);
  EXPECT_EQ(static_cast<mode_t>(fs::status(file).permissions()), 0666 & ~mask);
}

TEST_F(write_report_test, follows_a_link_and_keeps_it) {
  std::ofstream(directory / "real.html") << "old";
  fs::create_symlink("real.html", directory / "link.html");
  ASSERT_FALSE(write_report(directory / "link.html", "page"));
  EXPECT_TRUE(fs::is_symlink(directory / "link.html"));
  EXPECT_EQ(contents(directory / "real.html"), "page");
}

TEST_F(write_report_test, refuses_what_is_no_file) {
  EXPECT_EQ(error_writing(directory), directory.string() + ": not a regular file");
  // Renaming over a device would replace it.
  EXPECT_EQ(error_writing("/dev/null"), "/dev/null: not a regular file");
  const fs::path nowhere = directory / "missing" / "report.html";
  EXPECT_EQ(error_writing(nowhere).rfind(nowhere.string(), 0), 0u);
  EXPECT_NE(error_writing(nowhere).find("No such file or directory"), std::string::npos);
  EXPECT_EQ(files(), 0);
}

TEST_F(write_report_test, leaves_the_old_page_when_writing_fails) {
  const fs::path file = directory / "report.html";
  ASSERT_FALSE(write_report(file, "old"));
  // A stale temporary file of this very process id stands in the way.
  std::ofstream(file.string() + "." + std::to_string(getpid()) + ".part");
  EXPECT_NE(error_writing(file).find("File exists"), std::string::npos);
  EXPECT_EQ(contents(file), "old");
}

}  // namespace
}  // namespace haltpoll::bench
