#pragma once
// golden_table: a golden file in memory, CSV with a header line, columns found by name. Reads .csv
// and .csv.gz alike; knows nothing of governors.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace haltpoll::golden {

class row;

class table {
 public:
  /// Takes the text of a whole file. error() tells the first line that is malformed.
  explicit table(std::string text);
  table(const table&) = delete;  // cells point into text_
  table& operator=(const table&) = delete;

  const std::string& error() const { return error_; }
  std::size_t rows() const { return columns_.empty() ? 0 : cells_.size() / columns_.size(); }

 private:
  friend class row;
  std::string text_;
  std::vector<std::string_view> columns_;
  std::vector<std::string_view> cells_;
  std::string error_;
};

/// One row. A column the file lacks, or a cell that is not what was asked for, reads as 0 and
/// leaves the reason in error(): ask for everything, then look once.
class row {
 public:
  /// Row `index` of `t`, counted from 0.
  row(const table& t, std::size_t index) : table_(t), index_(index) {}

  const std::string& error() const { return error_; }

  bool has(std::string_view column) const;
  std::string_view cell(std::string_view column) const;
  /// Decimal, up to 64 bits; a negative number comes as its two's complement.
  std::uint64_t number(std::string_view column) const;
  /// As number(), but not negative and no more than 32 bits.
  std::uint32_t number32(std::string_view column) const;

 private:
  void fail(std::string_view column, const char* what) const;

  const table& table_;
  std::size_t index_;
  mutable std::string error_;
};

/// The text of FILE, decompressed where it is gzip. False, with the reason in `error`, if it cannot
/// be read whole.
bool read_file(const std::string& file, std::string& text, std::string& error);

}  // namespace haltpoll::golden
