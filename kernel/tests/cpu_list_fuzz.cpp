// Any bytes as a list of CPUs: an accepted one rises, is within the limit and has a text form that means the same; a refused one is
// explained.
#include <haltpoll/kernel/guards.hpp>

using namespace haltpoll::kernel;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, unsigned long size) {
  const auto parsed = parse_cpu_list(std::string(reinterpret_cast<const char*>(data), size));
  if (const auto* why = std::get_if<std::string>(&parsed)) {
    if (why->empty()) __builtin_trap();
    return 0;
  }
  const auto& cpus = std::get<cpu_list>(parsed);
  for (std::size_t i = 0; i < cpus.size(); ++i)
    if (cpus[i] >= 8192 || (i > 0 && cpus[i] <= cpus[i - 1])) __builtin_trap();
  const auto again = parse_cpu_list(to_string(cpus));
  if (again != parsed) __builtin_trap();
  return 0;
}
