#include <algorithm>
#include <charconv>
#include <haltpoll/kernel/guards.hpp>
#include <string_view>

namespace haltpoll::kernel {
namespace {

// The kernel's own limit of CPU numbers (NR_CPUS, x86 with MAXSMP).
constexpr u32 most_cpus = 8192;

/// A number that is all of `text`, below most_cpus.
std::optional<u32> number(std::string_view text) {
  u32 v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size() || v >= most_cpus)
    return std::nullopt;
  return v;
}

}  // namespace

std::variant<cpu_list, std::string> parse_cpu_list(const std::string& text) {
  std::string_view rest = text;
  while (!rest.empty() && (rest.back() == '\n' || rest.back() == ' ')) rest.remove_suffix(1);
  cpu_list cpus;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view piece = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    const std::size_t dash = piece.find('-');
    const auto first = number(piece.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(piece.substr(dash + 1));
    if (!first || !last || *first > *last || (comma != std::string_view::npos && rest.empty()))
      return "\"" + text + "\" is not a list of CPUs such as 0-3,8 (numbers below " +
             std::to_string(most_cpus) + ")";
    for (u32 cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
    // Only repetition gets there. Refused, so that a long text cannot take memory without bound.
    if (cpus.size() > most_cpus)
      return "a list of CPUs names more than " + std::to_string(most_cpus);
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::string to_string(const cpu_list& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t j = i;
    while (j + 1 < cpus.size() && cpus[j + 1] == cpus[j] + 1) ++j;
    text += (text.empty() ? "" : ",") + std::to_string(cpus[i]);
    if (j > i) text += "-" + std::to_string(cpus[j]);
    i = j + 1;
  }
  return text;
}

}  // namespace haltpoll::kernel
