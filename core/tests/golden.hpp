#pragma once
// golden: replays recorded decisions of the Linux kernel (core/tests/golden) through the governors
// and counts where they differ. What a file holds is told by its name; shapes are a table in
// golden.cpp, so that a new one is one entry.
//
// Two things are compared in every row: what the governor decides, and that its own state is the
// one the kernel had, as far as the file tells it. State is carried from row to row and never corrected from the file.
#include <string>
#include <string_view>
#include <vector>

#include "golden_table.hpp"
#include "runner.hpp"

namespace haltpoll::golden {

struct report {
  std::size_t rows = 0;
  std::size_t mismatches = 0;        ///< rows with at least one difference
  std::vector<std::string> details;  ///< the first few, one line each
  std::string error;                 ///< not empty: the file could not be replayed
};

/// Replays `t` as the shape that the name of FILE (directories and suffixes ignored) says.
report replay(std::string_view file, const table& t, runner& decide);

/// Reads FILE and replays it.
report replay_file(const std::string& file, runner& decide);

}  // namespace haltpoll::golden
