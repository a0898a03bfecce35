#pragma once
// files: what /proc and /sys say, as text. A file that cannot be read is an empty one.
#include <fstream>
#include <sstream>
#include <string>

namespace haltpoll::kernel {

inline std::string read_all(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

}  // namespace haltpoll::kernel
