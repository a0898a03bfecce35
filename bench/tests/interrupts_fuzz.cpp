// Whatever /proc/interrupts holds: a count or none, never a read past the end.
#include <cstdint>

#include "../src/interrupts.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  haltpoll::bench::count_interrupts({reinterpret_cast<const char*>(data), size});
  return 0;
}
