// examine(): which commands a library can be preloaded into. Files are made here, so that nothing
// depends on what is installed.
#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <fstream>
#include <haltpoll/process/launch.hpp>
#include <random>

#include "../src/elf.hpp"

namespace haltpoll::process {
namespace {

/// A small ELF executable, to be bent.
struct image {
  unsigned char elf_class = ELFCLASS64;
  unsigned machine = own_machine();
  unsigned type = ET_DYN;
  std::string interpreter = "/lib64/ld-linux-x86-64.so.2";
  bool go_note = false;

  std::string bytes() const {
    std::string text = interpreter.empty() ? "" : interpreter + '\0';
    const std::string note("\4\0\0\0\4\0\0\0\4\0\0\0Go\0\0id42", 20);
    std::vector<Elf64_Phdr> segments;
    const std::size_t count = (interpreter.empty() ? 0u : 1u) + (go_note ? 1u : 0u) + 1u;
    const std::size_t data = sizeof(Elf64_Ehdr) + count * sizeof(Elf64_Phdr);
    const auto add = [&](unsigned kind, std::size_t offset, std::size_t size) {
      Elf64_Phdr p{};
      p.p_type = kind;
      p.p_offset = offset;
      p.p_filesz = size;
      segments.push_back(p);
    };
    add(PT_LOAD, 0, data);
    if (!interpreter.empty()) add(PT_INTERP, data, text.size());
    if (go_note) add(PT_NOTE, data + text.size(), note.size());
    Elf64_Ehdr h{};
    memcpy(h.e_ident, ELFMAG, SELFMAG);
    h.e_ident[EI_CLASS] = elf_class;
    h.e_ident[EI_DATA] = ELFDATA2LSB;
    h.e_type = static_cast<Elf64_Half>(type);
    h.e_machine = static_cast<Elf64_Half>(machine);
    h.e_phoff = sizeof h;
    h.e_phentsize = sizeof(Elf64_Phdr);
    h.e_phnum = static_cast<Elf64_Half>(segments.size());
    std::string all(reinterpret_cast<const char*>(&h), sizeof h);
    all.append(reinterpret_cast<const char*>(segments.data()),
               segments.size() * sizeof(Elf64_Phdr));
    return all + text + (go_note ? note : "");
  }
};

class examine_command : public testing::Test {
 protected:
  examine_command() {
    char name[] = "/tmp/haltpoll-examine-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~examine_command() override {
    for (const std::string& f : files_) unlink(f.c_str());
    rmdir(directory_.c_str());
  }
  std::string file(const std::string& name, const std::string& bytes, mode_t mode = 0755) {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    chmod(path.c_str(), mode);
    files_.push_back(path);
    return path;
  }
  std::string directory_;
  std::vector<std::string> files_;
};

TEST_F(examine_command, dynamic_program_is_fine) {
  EXPECT_EQ(examine(file("dynamic", image{}.bytes())).problem, "");
  EXPECT_EQ(examine(file("no-pie", image{.type = ET_EXEC}.bytes())).problem, "");
}

TEST_F(examine_command, what_cannot_be_preloaded_into) {
  struct expectation {
    const char* name;
    image bent;
    const char* says;
  };
  const unsigned other = own_machine() == EM_X86_64 ? EM_AARCH64 : EM_X86_64;
  const expectation table[] = {
      {"static", {.type = ET_EXEC, .interpreter = ""}, "is statically linked"},
      {"static-pie", {.interpreter = ""}, "is statically linked"},
      {"go", {.go_note = true}, "is a Go program"},
      {"go-static", {.interpreter = "", .go_note = true}, "is a Go program"},
      {"other-machine", {.machine = other}, "is a program for"},
      {"32-bit", {.elf_class = ELFCLASS32}, "is a 32-bit program"},
      {"musl", {.interpreter = "/lib/ld-musl-x86_64.so.1"}, "musl"},
  };
  for (const expectation& e : table) {
    const std::string path = file(e.name, e.bent.bytes());
    const verdict v = examine(path);
    EXPECT_NE(v.problem.find(path), std::string::npos) << e.name;
    EXPECT_NE(v.problem.find(e.says), std::string::npos) << e.name << ": " << v.problem;
    EXPECT_EQ(v.exit_code, 69) << e.name;
    EXPECT_NE(v.hint, "") << e.name;
  }
}

TEST_F(examine_command, not_found_not_executable) {
  EXPECT_EQ(examine(directory_ + "/none").exit_code, 64);
  EXPECT_EQ(examine("haltpoll-no-such-command").exit_code, 64);
  EXPECT_EQ(examine("haltpoll-no-such-command").problem,
            "haltpoll-no-such-command: command not found");
  EXPECT_EQ(examine("").exit_code, 64);
  EXPECT_EQ(examine(directory_).exit_code, 77);
  EXPECT_EQ(examine(file("data", image{}.bytes(), 0644)).exit_code, 77);
}

TEST_F(examine_command, looks_along_the_path) {
  file("wanted", image{.interpreter = ""}.bytes());
  const std::string before = getenv("PATH");
  setenv("PATH", ("/nonexistent:" + directory_).c_str(), 1);
  EXPECT_EQ(examine("wanted").problem,
            directory_ + "/wanted is statically linked, so nothing can be preloaded into it");
  setenv("PATH", before.c_str(), 1);
}

TEST_F(examine_command, scripts_are_their_interpreters) {
  const std::string good = file("interpreter", image{}.bytes());
  const std::string bad = file("static-interpreter", image{.interpreter = ""}.bytes());
  EXPECT_EQ(examine(file("a", "#!" + good + "\nx\n")).problem, "");
  EXPECT_EQ(examine(file("b", "#! \t" + good + " -x y\n")).problem, "");
  EXPECT_EQ(examine(file("c", "#!" + bad + "\n")).exit_code, 69);
  EXPECT_NE(examine(file("d", "#!" + bad + "\n")).problem.find("d is a script: " + bad),
            std::string::npos);
  EXPECT_EQ(examine(file("e", "#!/nonexistent/x\n")).exit_code, 64);
  // Two in a row, and a circle.
  EXPECT_EQ(examine(file("f", "#!" + directory_ + "/c\n")).exit_code, 69);
  EXPECT_EQ(examine(file("loop", "#!" + directory_ + "/loop\n")).exit_code, 69);
  // env: the program it will run.
  const std::string env = file("env", image{}.bytes());
  EXPECT_EQ(examine(file("g", "#!" + env + " " + bad + "\n")).exit_code, 69);
  EXPECT_EQ(examine(file("h", "#!" + env + " " + good + "\n")).problem, "");
  EXPECT_EQ(examine(file("i", "#!" + env + " -S " + bad + "\n")).problem, "");
}

TEST_F(examine_command, set_id_and_capabilities) {
  if (getuid() != 0) GTEST_SKIP() << "needs root to make files of another owner";
  const std::string path = file("set-id", image{}.bytes());
  ASSERT_EQ(chown(path.c_str(), 1, 1), 0);
  for (const mode_t mode : {mode_t{04755}, mode_t{02755}}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_EQ(examine(path).exit_code, 77);
  }
  // Set-group-ID without execution by the group is a lock flag; our own id gives nothing.
  ASSERT_EQ(chmod(path.c_str(), 02745), 0);
  EXPECT_EQ(examine(path).problem, "");
  const std::string own = file("own", image{}.bytes(), 04755);
  EXPECT_EQ(examine(own).problem, "");
}

TEST(elf, damaged_files_are_refused_or_read_within_bounds) {
  std::minstd_rand random(1);
  const std::string good = image{.go_note = true}.bytes();
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good;
    for (int n = 1 + static_cast<int>(random() % 8); n > 0; --n)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    std::size_t most = 0;
    const auto facts = read_elf([&](std::uint64_t offset, void* buffer, std::size_t size) {
      most = std::max(most, size);
      if (offset > bytes.size() || size > bytes.size() - offset) return false;
      memcpy(buffer, bytes.data() + offset, size);
      return true;
    });
    EXPECT_LE(most, 65536u);
    if (facts) {
      EXPECT_LE(facts->interpreter.size(), 4096u);
    }
  }
}

TEST(launch, environment) {
  unsetenv("LD_PRELOAD");
  EXPECT_EQ(preload_environment("/lib/x.so", "haltpoll", ""),
            (std::vector<std::string>{"LD_PRELOAD=/lib/x.so", "HALTPOLL_GOVERNOR=haltpoll"}));
}

TEST(launch, finds_the_library) {
  unsetenv("HALTPOLL_PRELOAD_LIBRARY");
  std::vector<std::string> places;
  EXPECT_TRUE(preload_library(&places).ends_with("/libhaltpoll_preload.so"));
  setenv("HALTPOLL_PRELOAD_LIBRARY", "/nonexistent/x.so", 1);
  places.clear();
  EXPECT_EQ(preload_library(&places), "");
  EXPECT_EQ(places, std::vector<std::string>{"/nonexistent/x.so"});
  unsetenv("HALTPOLL_PRELOAD_LIBRARY");
}

TEST(launch, stats_memory_starts_at_zero_and_can_be_opened) {
  const stats_memory m;
  ASSERT_TRUE(m.ok());
  EXPECT_EQ(sum(m.page()).polls, 0u);
  const int fd = open(m.path().c_str(), O_RDWR);
  EXPECT_GE(fd, 0);
  struct stat s;
  EXPECT_EQ(fstat(fd, &s), 0);
  EXPECT_EQ(static_cast<std::size_t>(s.st_size), sizeof(stats_page));
  close(fd);
}

}  // namespace
}  // namespace haltpoll::process
