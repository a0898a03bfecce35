#pragma once
// calibration: which bit of thread_info.flags is NEED_RESCHED on this kernel.
//
// The bit numbers are macros, in no BTF, and they moved: x86 bit 3 up to 6.17, bit 4 from 6.18; arm64 bit 1. A wrong bit would
// be a CPU that does not see its wake-up for a whole window, so the bit is measured and must agree with the table besides.
// The programs AND the idle task's flags at every entry of the idle loop and at every exit. The loop is left because
// NEED_RESCHED is set, so AND(exits) contains it; most entries find it clear, so AND(entries) does not. Bits that the idle task
// always has (the polling flag, NEED_FPU_LOAD, FOREIGN_FPSTATE) are in both. OR over entries would be wrong: a wake can be
// pending at entry already (0.1 to 2 % of entries). Measured: 0x204008 & ~0x204000 = 0x8 (6.1, 6.12), 0x80050 & ~0x80040 = 0x10 (7.2),
// 0x12 & ~0x10 = 0x2 (arm64 7.2).
#include <haltpoll/kernel/maps.hpp>
#include <span>
#include <string>
#include <variant>

namespace haltpoll::kernel {

/// What is known from the kernel's sources (arch/*/include/asm/thread_info.h, 5.10 to 7.3).
struct flag_bits {
  u64 need_resched = 0;  ///< mask
  u64 polling = 0;       ///< mask; 0: the architecture has no polling flag
};

enum class architecture { x86_64, aarch64, other };
architecture this_architecture();
std::span<const flag_bits> known_bits(architecture a);

/// Entries and exits each CPU has to show. A false candidate that is set at random half of the time survives with 2^-32.
inline constexpr u32 calibration_passes = 32;

/// What the programs collected, over the CPUs that have seen enough passes.
struct observation {
  u64 entry_flags = ~0ULL, exit_flags = ~0ULL;  ///< AND
  u32 cpus = 0;                                 ///< that contributed
};
observation observe(std::span<const cpu_record> records);

/// The bits, or one line why none can be trusted: no or several candidates, or one that the table does not know.
std::variant<flag_bits, std::string> deduce(const observation& seen,
                                            std::span<const flag_bits> known);

}  // namespace haltpoll::kernel
