#pragma once
// failure: what a subcommand throws when it cannot go on. Only main() catches it, and only report()
// in failure.cpp prints it: one line `haltpoll: ...`, indented detail, and what to do about it.
#include <stdexcept>
#include <string>
#include <vector>

namespace haltpoll::cli {

/// The contract that scripts rely on (sysexits.h where it has a name for it).
namespace exit_code {
inline constexpr int usage = 64, bad_data = 65, not_possible = 69, internal = 70,
                     not_permitted = 77;
}

struct failure : std::runtime_error {
  failure(int code_, const std::string& message, std::string hint_ = "",
          std::vector<std::string> detail_ = {})
      : std::runtime_error(message),
        code(code_),
        hint(std::move(hint_)),
        detail(std::move(detail_)) {}

  int code;
  std::string hint;                 ///< what to do; empty: the message says it all
  std::vector<std::string> detail;  ///< lines printed below the message, indented
};

/// Prints on standard error and returns the exit code. Control characters from outside are
/// replaced, so that a file name cannot write to the terminal.
int report(const failure& f);

/// The text with everything but printable ASCII and UTF-8 sequences replaced by '?'.
std::string printable(const std::string& text);

}  // namespace haltpoll::cli
