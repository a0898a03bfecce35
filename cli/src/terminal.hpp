#pragma once
// terminal: how figures and tables look, and whether there is a terminal that may be written to
// with colour.
#include <haltpoll/core/types.hpp>
#include <string>
#include <vector>

namespace haltpoll::cli {

/// Rows of cells; a row may be shorter than others. layout() aligns the columns.
using table = std::vector<std::vector<std::string>>;
std::string layout(const table& rows, const std::string& indent = "");

/// "190 ns", "20.8 us", "1.3 ms", "2.50 s".
std::string duration(core::u64 ns);

/// Bold, where standard output is a terminal and NO_COLOR is not set (no-color.org: any value but
/// the empty one).
std::string heading(const std::string& text);

/// Says on standard error what is being done, once it has taken longer than two seconds; on a
/// terminal in one line that is rewritten and finally wiped.
class progress {
 public:
  progress();
  ~progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  void say(const std::string& what);
  void done();  ///< wipes the line; before anything else is printed

 private:
  core::u64 start_ns_;
  bool terminal_;
  bool line_open_ = false;
};

}  // namespace haltpoll::cli
