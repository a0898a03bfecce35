#include "terminal.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <haltpoll/cpu/clock.hpp>

#include "failure.hpp"

namespace haltpoll::cli {
namespace {

constexpr core::u64 quiet_for_ns =
    2'000'000'000;  // the contract: progress for anything over two seconds

/// Columns a UTF-8 text takes: its bytes but the continuation ones.
size_t width(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

std::string layout(const table& rows, const std::string& indent) {
  std::vector<size_t> widths;
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      if (i == widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], width(row[i]));
    }
  std::string out;
  for (const auto& row : rows) {
    std::string line = indent;
    for (size_t i = 0; i < row.size(); ++i)
      line += row[i] + std::string(widths[i] - width(row[i]) + 2, ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

std::string duration(core::u64 ns) {
  const double v = static_cast<double>(ns);
  if (ns < 1'000) return fmt::format("{} ns", ns);
  if (ns < 1'000'000) return fmt::format("{:.1f} us", v / 1e3);
  if (ns < 1'000'000'000) return fmt::format("{:.1f} ms", v / 1e6);
  return fmt::format("{:.2f} s", v / 1e9);
}

std::string heading(const std::string& text) {
  static const bool colour = [] {
    const char* no_color = std::getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) != 0 && (no_color == nullptr || *no_color == '\0');
  }();
  return colour ? "\033[1m" + text + "\033[0m" : text;
}

progress::progress() : start_ns_(cpu::now_ns()), terminal_(isatty(STDERR_FILENO) != 0) {}

progress::~progress() { done(); }

void progress::done() {
  if (line_open_) fmt::print(stderr, "\r\033[K");
  line_open_ = false;
}

void progress::say(const std::string& what) {
  if (cpu::now_ns() - start_ns_ < quiet_for_ns) return;
  if (terminal_)
    fmt::print(stderr, "\r\033[K{}", printable(what));
  else
    fmt::print(stderr, "{}\n", printable(what));
  std::fflush(stderr);
  line_open_ = terminal_;
}

}  // namespace haltpoll::cli
