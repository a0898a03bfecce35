#include "failure.hpp"

#include <fmt/core.h>

namespace haltpoll::cli {

std::string printable(const std::string& text) {
  std::string out = text;
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  return out;
}

int report(const failure& f) {
  std::string text = fmt::format("haltpoll: {}\n", printable(f.what()));
  for (const std::string& line : f.detail) text += fmt::format("  {}\n", printable(line));
  if (!f.hint.empty()) text += fmt::format("hint: {}\n", printable(f.hint));
  fmt::print(stderr, "{}", text);
  return f.code;
}

}  // namespace haltpoll::cli
