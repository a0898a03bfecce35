// The instruction wrappers, checked by their machine code: most CPUs, this project's own among
// them, cannot run them. The bytes are from the manuals (Intel SDM vol. 2, AMD APM vol. 3, Arm ARM
// C6).
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <haltpoll/cpu/aarch64.hpp>
#include <haltpoll/cpu/relax.hpp>
#include <haltpoll/cpu/x86_64.hpp>
#include <string>
#include <vector>

namespace cpu = haltpoll::cpu;
using haltpoll::core::u32;
using haltpoll::core::u64;

namespace {

using bytes = std::vector<unsigned char>;

struct encoding {
  const char* name;
  const void* function;
  bytes expected;  // somewhere in the function
  bytes mask;      // bits that count; empty: all
};

// Other functions follow, whose instructions must not count: stop at the return.
bool contains(const encoding& e) {
  static const bytes ret =
#if defined(__x86_64__)
      {0xc3};
#else
      {0xc0, 0x03, 0x5f, 0xd6};
#endif
  const auto* code = static_cast<const unsigned char*>(e.function);
  for (std::size_t at = 0; at < 256; ++at) {
    bool same = true;
    for (std::size_t i = 0; i < e.expected.size(); ++i) {
      const unsigned char mask = e.mask.empty() ? 0xff : e.mask[i];
      same = same && (code[at + i] & mask) == e.expected[i];
    }
    if (same) return true;
    if (std::memcmp(code + at, ret.data(), ret.size()) == 0) return false;
  }
  return false;
}

const encoding encodings[] = {
#if defined(__x86_64__)
    {"pause", reinterpret_cast<const void*>(cpu::relax), {0xf3, 0x90}, {}},
    // ModRM: register form of group 15 /6; the register is the compiler's choice.
    {"umonitor",
     reinterpret_cast<const void*>(cpu::x86_64::umonitor),
     {0xf3, 0x0f, 0xae, 0xf0},
     {0xff, 0xff, 0xff, 0xf8}},
    {"umwait ecx",
     reinterpret_cast<const void*>(cpu::x86_64::umwait),
     {0xf2, 0x0f, 0xae, 0xf1},
     {}},
    {"monitorx", reinterpret_cast<const void*>(cpu::x86_64::monitorx), {0x0f, 0x01, 0xfa}, {}},
    {"mwaitx", reinterpret_cast<const void*>(cpu::x86_64::mwaitx), {0x0f, 0x01, 0xfb}, {}},
#else
    {"yield", reinterpret_cast<const void*>(cpu::relax), {0x3f, 0x20, 0x03, 0xd5}, {}},
    // ldaxr wt, [xn]: t and n are the compiler's choice.
    {"ldaxr",
     reinterpret_cast<const void*>(cpu::aarch64::load_exclusive),
     {0x00, 0xfc, 0x5f, 0x88},
     {0x00, 0xfc, 0xff, 0xff}},
    {"wfe", reinterpret_cast<const void*>(cpu::aarch64::wfe), {0x5f, 0x20, 0x03, 0xd5}, {}},
    {"wfet x0", reinterpret_cast<const void*>(cpu::aarch64::wfet), {0x00, 0x10, 0x03, 0xd5}, {}},
#endif
};

TEST(instructions, have_the_manuals_bytes) {
  for (const encoding& e : encodings) EXPECT_TRUE(contains(e)) << e.name;
}

#if defined(__x86_64__)
TEST(instructions, umonitor_takes_a_64_bit_address) {
  // With an address-size prefix it would watch the low 4 GB.
  EXPECT_FALSE(contains(
      {"", reinterpret_cast<const void*>(cpu::x86_64::umonitor), {0x67, 0xf3, 0x0f, 0xae}, {}}));
}

TEST(instructions, cpuid_answers) { EXPECT_GE(cpu::x86_64::cpuid(0x80000000).eax, 0x80000008u); }
#endif

TEST(instructions, counter_advances) {
#if defined(__x86_64__)
  const auto read = cpu::x86_64::rdtsc;
#else
  const auto read = cpu::aarch64::cntvct;
#endif
  const u64 before = read();
  u64 turns = 0;
  while (read() == before && turns < 100'000'000) ++turns;
  EXPECT_GT(read(), before);
}

}  // namespace
