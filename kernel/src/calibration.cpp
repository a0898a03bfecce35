#include <bit>
#include <cstdio>
#include <haltpoll/kernel/calibration.hpp>

namespace haltpoll::kernel {
namespace {

constexpr u64 bit(unsigned n) { return 1ULL << n; }

// 5.10 to 6.17; from 6.18 the generic numbers of asm-generic/thread_info_tif.h.
constexpr flag_bits x86_64_bits[] = {{bit(3), bit(21)}, {bit(4), bit(6)}};
// No polling flag: 842514849a61 took it away, because WFI needs the interrupt.
constexpr flag_bits aarch64_bits[] = {{bit(1), 0}};

std::string hex(u64 v) {
  char text[20];
  std::snprintf(text, sizeof text, "0x%llx", v);
  return text;
}

}  // namespace

architecture this_architecture() {
#if defined(__x86_64__)
  return architecture::x86_64;
#elif defined(__aarch64__)
  return architecture::aarch64;
#else
  return architecture::other;
#endif
}

std::span<const flag_bits> known_bits(architecture a) {
  switch (a) {
    case architecture::x86_64: return x86_64_bits;
    case architecture::aarch64: return aarch64_bits;
    case architecture::other: break;
  }
  return {};
}

observation observe(std::span<const cpu_record> records) {
  observation seen;
  for (const cpu_record& r : records) {
    if (r.entries < calibration_passes || r.exits < calibration_passes) continue;
    seen.entry_flags &= r.entry_flags;
    seen.exit_flags &= r.exit_flags;
    ++seen.cpus;
  }
  return seen;
}

std::variant<flag_bits, std::string> deduce(const observation& seen,
                                            std::span<const flag_bits> known) {
  if (seen.cpus == 0)
    return "no CPU passed the idle loop " + std::to_string(calibration_passes) + " times";
  const std::string evidence = "flags common to all exits " + hex(seen.exit_flags) +
                               ", to all entries " + hex(seen.entry_flags);
  const u64 candidates = seen.exit_flags & ~seen.entry_flags;
  if (std::popcount(candidates) != 1)
    return std::to_string(std::popcount(candidates)) + " bits could be NEED_RESCHED: " + evidence;
  for (const flag_bits& k : known) {
    if (k.need_resched != candidates) continue;
    if ((seen.entry_flags & k.polling) == k.polling) return k;
    return "the polling flag " + hex(k.polling) + " that belongs to NEED_RESCHED " +
           hex(candidates) + " is not set at every entry: " + evidence;
  }
  return "NEED_RESCHED seems to be " + hex(candidates) +
         ", which is not known for this architecture: " + evidence;
}

}  // namespace haltpoll::kernel
