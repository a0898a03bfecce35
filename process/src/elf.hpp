#pragma once
// elf: the few facts about an executable that decide whether a library can be preloaded into it.
//
// Reads untrusted files: every offset and count is bounded before use, nothing is mapped (a file
// that shrinks meanwhile must not kill us), and what makes no sense is "not an ELF file this system
// would run".
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace haltpoll::process {

struct elf_facts {
  unsigned elf_class = 0;   ///< ELFCLASS32, ELFCLASS64
  unsigned machine = 0;     ///< EM_*
  std::string interpreter;  ///< of PT_INTERP; empty: statically linked
  bool go = false;          ///< built by Go's own toolchain, which makes system calls without libc
};

/// Reads exactly `size` bytes at `offset`; false where there are not as many.
using read_at = std::function<bool(std::uint64_t offset, void* buffer, std::size_t size)>;

/// None for a file that is not an ELF executable or whose headers are damaged. For another class or
/// byte order only `elf_class` and `machine` are filled in.
std::optional<elf_facts> read_elf(const read_at& file);

/// "x86-64", "aarch64", or "machine 21".
std::string machine_name(unsigned machine);

/// EM_* of this build.
unsigned own_machine();

}  // namespace haltpoll::process
