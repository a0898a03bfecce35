#include <haltpoll/cpu/clock.hpp>

#include <time.h>

namespace haltpoll::cpu {

u64 now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<u64>(t.tv_sec) * 1'000'000'000 + static_cast<u64>(t.tv_nsec);
}

const char* clock_source() { return "vdso"; }

}  // namespace haltpoll::cpu
