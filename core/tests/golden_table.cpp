#include "golden_table.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>

namespace haltpoll::golden {
namespace {

void split(std::string_view line, std::vector<std::string_view>& cells) {
  for (;;) {
    const auto comma = line.find(',');
    cells.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return;
    line.remove_prefix(comma + 1);
  }
}

template <typename integer>
bool parse(std::string_view text, integer& out) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  return code == std::errc{} && end == text.data() + text.size();
}

}  // namespace

table::table(std::string text) : text_(std::move(text)) {
  std::string_view rest = text_;
  std::size_t number = 0;
  while (!rest.empty() && error_.empty()) {
    ++number;
    const auto end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (columns_.empty()) {
      split(line, columns_);
      continue;
    }
    const std::size_t before = cells_.size();
    split(line, cells_);
    if (cells_.size() - before != columns_.size())
      error_ = "line " + std::to_string(number) + " has " + std::to_string(cells_.size() - before) +
               " cells, the header has " + std::to_string(columns_.size());
  }
}

void row::fail(std::string_view column, const char* what) const {
  if (error_.empty())
    error_ = "row " + std::to_string(index_) + ": column " + std::string(column) + " " + what;
}

bool row::has(std::string_view column) const {
  return std::ranges::find(table_.columns_, column) != table_.columns_.end();
}

std::string_view row::cell(std::string_view column) const {
  const auto found = std::ranges::find(table_.columns_, column);
  if (found == table_.columns_.end()) {
    fail(column, "is missing");
    return {};
  }
  const auto position = static_cast<std::size_t>(found - table_.columns_.begin());
  return table_.cells_[index_ * table_.columns_.size() + position];
}

std::uint64_t row::number(std::string_view column) const {
  const std::string_view text = cell(column);
  std::uint64_t value = 0;
  if (parse(text, value)) return value;
  std::int64_t negative = 0;
  if (parse(text, negative)) return static_cast<std::uint64_t>(negative);
  fail(column, "is not a number of 64 bits");
  return 0;
}

std::uint32_t row::number32(std::string_view column) const {
  std::uint32_t value = 0;
  if (!parse(cell(column), value)) fail(column, "is not a number of 32 bits");
  return value;
}

bool read_file(const std::string& file, std::string& text, std::string& error) {
  const gzFile in = gzopen(file.c_str(), "rb");  // takes files that are not gzip as they are
  if (in == nullptr) {
    error = std::strerror(errno);
    return false;
  }
  char block[1 << 16];
  int size = 0;
  while ((size = gzread(in, block, sizeof block)) > 0)
    text.append(block, static_cast<std::size_t>(size));
  int code = Z_OK;
  const char* message = gzerror(in, &code);
  if (code == Z_ERRNO)
    error = std::strerror(errno);
  else if (size < 0 || code != Z_OK)
    error = message;
  // A file that ends in the middle of its compressed data is noticed only here.
  if (gzclose_r(in) != Z_OK && error.empty()) error = "unexpected end of file";
  return error.empty();
}

}  // namespace haltpoll::golden
