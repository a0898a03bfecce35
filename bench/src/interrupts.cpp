#include "interrupts.hpp"

#include <charconv>
#include <fstream>
#include <sstream>

namespace haltpoll::bench {
namespace {

using core::u64;

std::string_view without_leading_blanks(std::string_view s) {
  const auto first = s.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view() : s.substr(first);
}

/// Takes the numbers from the front of `rest` and adds them up; what follows is the name.
u64 sum_of_numbers(std::string_view& rest) {
  u64 sum = 0;
  for (;;) {
    rest = without_leading_blanks(rest);
    u64 n = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), n);
    const auto taken = static_cast<std::size_t>(end - rest.data());
    if (error != std::errc() || (taken < rest.size() && rest[taken] != ' ')) return sum;
    sum += n;
    rest.remove_prefix(taken);
  }
}

// arch/x86/kernel/irq.c and arch/arm64/kernel/smp.c, 5.10 to 7.3.
bool wakes_a_cpu(std::string_view label, std::string_view name) {
  if (label == "RES" || label == "CAL") return true;
  return label.starts_with("IPI") && (name.starts_with("Rescheduling interrupts") ||
                                      name.starts_with("Function call interrupts"));
}

}  // namespace

std::optional<u64> count_interrupts(std::string_view text) {
  std::optional<u64> sum;
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string_view line = without_leading_blanks(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view label = line.substr(0, colon);
    std::string_view rest = line.substr(colon + 1);
    const u64 count = sum_of_numbers(rest);
    if (wakes_a_cpu(label, rest)) sum = sum.value_or(0) + count;
  }
  return sum;
}

std::optional<u64> interrupts_sent(const std::string& root) {
  std::ifstream in(root + "/proc/interrupts");
  std::ostringstream text;
  text << in.rdbuf();
  return count_interrupts(text.str());
}

}  // namespace haltpoll::bench
