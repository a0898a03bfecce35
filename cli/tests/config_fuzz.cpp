// Whatever a configuration file holds: it is taken or refused with file and line, in one line.
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "config.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace haltpoll::cli;
  try {
    const layer l = parse_config({reinterpret_cast<const char*>(data), size}, "f");
    const auto governor = governor_of(l, exit_code::bad_data);
    if (governor && governor->origin.rfind("f:", 0) != 0) std::abort();
    for (const auto& [name, text] : l.kernel)
      if (text.origin.rfind("f:", 0) != 0) std::abort();
  } catch (const failure& f) {
    const std::string text = f.what();
    if (text.rfind("f:", 0) != 0 || text.size() < 3 ||
        std::isdigit(static_cast<unsigned char>(text[2])) == 0 || text[2] == '0')
      std::abort();
    if (f.code != exit_code::bad_data) std::abort();
  }
  return 0;
}
