#include "elf.hpp"

#include <elf.h>
#include <limits.h>

#include <array>
#include <bit>
#include <cstring>
#include <string_view>
#include <vector>

namespace haltpoll::process {
namespace {

// As much as the kernel takes (fs/binfmt_elf.c: program headers within 64 KiB); sections are
// optional, so a bound of our own does.
constexpr std::size_t most_segments = 65536 / sizeof(Elf64_Phdr);
constexpr std::size_t most_sections = 512;
constexpr std::size_t most_names = 64 * 1024;
constexpr std::size_t most_notes = 4 * 1024;

/// Notes are {name size, description size, type, name, description}, the last two padded to 4.
bool has_go_note(const std::vector<char>& notes) {
  constexpr std::uint32_t go_build_id = 4;
  for (std::size_t at = 0; notes.size() - at >= sizeof(Elf64_Nhdr);) {
    Elf64_Nhdr n;
    std::memcpy(&n, notes.data() + at, sizeof n);
    at += sizeof n;
    const std::uint64_t name = (std::uint64_t{n.n_namesz} + 3) & ~3ULL;
    const std::uint64_t description = (std::uint64_t{n.n_descsz} + 3) & ~3ULL;
    if (name + description > notes.size() - at) return false;
    if (n.n_type == go_build_id && n.n_namesz == 4 &&
        std::memcmp(notes.data() + at, "Go\0\0", 4) == 0)
      return true;
    at += name + description;
  }
  return false;
}

bool has_section(const read_at& file, const Elf64_Ehdr& h, std::string_view wanted) {
  if (h.e_shentsize != sizeof(Elf64_Shdr) || h.e_shnum == 0 || h.e_shnum > most_sections)
    return false;
  if (h.e_shstrndx >= h.e_shnum) return false;
  std::vector<Elf64_Shdr> sections(h.e_shnum);
  if (!file(h.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr))) return false;
  const Elf64_Shdr& strings = sections[h.e_shstrndx];
  if (strings.sh_size == 0 || strings.sh_size > most_names) return false;
  std::string names(strings.sh_size, '\0');
  if (!file(strings.sh_offset, names.data(), names.size())) return false;
  for (const Elf64_Shdr& s : sections)
    if (s.sh_name < names.size() && std::string_view(names.c_str() + s.sh_name) == wanted)
      return true;
  return false;
}

}  // namespace

std::optional<elf_facts> read_elf(const read_at& file) {
  std::array<unsigned char, EI_NIDENT> ident{};
  if (!file(0, ident.data(), ident.size()) || std::memcmp(ident.data(), ELFMAG, SELFMAG) != 0)
    return {};
  elf_facts facts;
  facts.elf_class = ident[EI_CLASS];
  // Type and machine sit at the same place in both classes.
  std::array<unsigned char, 4> type_and_machine{};
  if (!file(EI_NIDENT, type_and_machine.data(), type_and_machine.size())) return {};
  const bool little = ident[EI_DATA] == ELFDATA2LSB;
  const auto half = [&](unsigned i) -> unsigned {
    const unsigned a = type_and_machine[i], b = type_and_machine[i + 1];
    return little ? a | b << 8 : b | a << 8;
  };
  const unsigned type = half(0);
  facts.machine = half(2);
  if (type != ET_EXEC && type != ET_DYN) return {};
  constexpr bool own_little = std::endian::native == std::endian::little;
  if (facts.elf_class != ELFCLASS64 || little != own_little) return facts;

  Elf64_Ehdr h;
  if (!file(0, &h, sizeof h)) return {};
  if (h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phnum == 0 || h.e_phnum > most_segments) return {};
  std::vector<Elf64_Phdr> segments(h.e_phnum);
  if (!file(h.e_phoff, segments.data(), segments.size() * sizeof(Elf64_Phdr))) return {};
  for (const Elf64_Phdr& p : segments) {
    if (p.p_type == PT_INTERP && facts.interpreter.empty()) {
      // As the kernel wants it: terminated, not longer than a path.
      if (p.p_filesz < 2 || p.p_filesz > PATH_MAX) return {};
      std::string path(p.p_filesz, '\0');
      if (!file(p.p_offset, path.data(), path.size()) || path.back() != '\0') return {};
      facts.interpreter = path.c_str();
    } else if (p.p_type == PT_NOTE && p.p_filesz <= most_notes) {
      std::vector<char> notes(p.p_filesz);
      if (file(p.p_offset, notes.data(), notes.size())) facts.go = facts.go || has_go_note(notes);
    }
  }
  facts.go =
      facts.go || has_section(file, h, ".go.buildinfo") || has_section(file, h, ".note.go.buildid");
  return facts;
}

std::string machine_name(unsigned machine) {
  switch (machine) {
    case EM_386: return "i386";
    case EM_X86_64: return "x86-64";
    case EM_ARM: return "arm";
    case EM_AARCH64: return "aarch64";
    case EM_RISCV: return "riscv";
    case EM_PPC64: return "ppc64";
    case EM_S390: return "s390";
    default: return "machine " + std::to_string(machine);
  }
}

unsigned own_machine() {
#if defined(__x86_64__)
  return EM_X86_64;
#elif defined(__aarch64__)
  return EM_AARCH64;
#else
#error "haltpoll: which machine is this?"
#endif
}

}  // namespace haltpoll::process
