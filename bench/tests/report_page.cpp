// report_page BENCH.json PAGE.html: the page of a recorded run, for the browser test and for
// looking at it.
#include <cstdio>
#include <fstream>
#include <haltpoll/bench/report.hpp>
#include <nlohmann/json.hpp>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: report_page BENCH.json PAGE.html\n", stderr);
    return 64;
  }
  std::ifstream in(argv[1]);
  const auto bench = nlohmann::ordered_json::parse(in, nullptr, false);
  const auto page = haltpoll::bench::report_html(bench);
  if (const auto* error = std::get_if<haltpoll::bench::report_error>(&page)) {
    std::fprintf(stderr, "report_page: %s: %s\n", argv[1], error->what.c_str());
    return 65;
  }
  if (const auto error = haltpoll::bench::write_report(argv[2], std::get<std::string>(page))) {
    std::fprintf(stderr, "report_page: %s\n", error->what.c_str());
    return 70;
  }
  return 0;
}
