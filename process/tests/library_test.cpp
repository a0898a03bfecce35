// What the library asks of a process: nothing but libc, little memory, little thread-local storage,
// no constructor work that shows, and no word unless something is wrong.
#include <elf.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "spawn.hpp"

namespace haltpoll::process::test {
namespace {

std::string whole_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

template <class T>
const T& at(const std::string& image, std::size_t offset) {
  return *reinterpret_cast<const T*>(image.data() + offset);
}

struct shape {
  std::vector<std::string> needed;
  std::size_t tls = 0;
  bool writable_code = false;
};

shape shape_of(const std::string& image) {
  shape s;
  const auto& header = at<Elf64_Ehdr>(image, 0);
  Elf64_Phdr dynamic{};
  std::vector<Elf64_Phdr> loads;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const auto& p = at<Elf64_Phdr>(image, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (p.p_type == PT_TLS) s.tls = p.p_memsz;
    if (p.p_type == PT_DYNAMIC) dynamic = p;
    if (p.p_type == PT_LOAD) loads.push_back(p);
    s.writable_code = s.writable_code ||
                      (p.p_type == PT_LOAD && (p.p_flags & PF_W) != 0 && (p.p_flags & PF_X) != 0);
  }
  std::vector<std::size_t> names;
  std::size_t strings = 0;
  for (std::size_t i = 0; i < dynamic.p_filesz / sizeof(Elf64_Dyn); ++i) {
    const auto& d = at<Elf64_Dyn>(image, dynamic.p_offset + i * sizeof(Elf64_Dyn));
    if (d.d_tag == DT_NEEDED) names.push_back(d.d_un.d_val);
    if (d.d_tag == DT_STRTAB) strings = d.d_un.d_ptr;
  }
  for (const Elf64_Phdr& p : loads)
    if (strings >= p.p_vaddr && strings < p.p_vaddr + p.p_filesz)
      for (const std::size_t n : names)
        s.needed.emplace_back(image.data() + p.p_offset + strings - p.p_vaddr + n);
  return s;
}

TEST(library, needs_libc_only) {
  const shape s = shape_of(whole_file(PRELOAD_LIBRARY));
  ASSERT_FALSE(s.needed.empty());
  // The loader is part of libc and exports the rseq area's place.
  const std::set<std::string> allowed = {"libc.so.6", "ld-linux-x86-64.so.2",
                                         "ld-linux-aarch64.so.1"};
  for (const std::string& n : s.needed) EXPECT_TRUE(allowed.contains(n)) << n;
}

TEST(library, small_thread_local_storage) {
  const shape s = shape_of(whole_file(PRELOAD_LIBRARY));
  EXPECT_GT(s.tls, 0u);
  EXPECT_LT(s.tls, 1024u);
  EXPECT_FALSE(s.writable_code);
}

TEST(library, small_in_memory) {
  if (std::string(TEST_EMULATOR) != "") GTEST_SKIP() << "the emulator's maps show the emulator";
  const finished f = run({"/bin/cat", "/proc/self/smaps"}, longest_window);
  ASSERT_EQ(f.status, 0) << f.err;
  std::istringstream lines(f.out);
  bool ours = false;
  long resident_kib = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string first;
    fields >> first;
    if (first.find('-') != std::string::npos && first.back() != ':')
      ours = line.find("libhaltpoll_preload.so") != std::string::npos;
    long kib = 0;
    if (ours && first == "Rss:" && fields >> kib) resident_kib += kib;
  }
  EXPECT_GT(resident_kib, 0) << "not mapped";
  EXPECT_LT(resident_kib, 128);
  RecordProperty("resident_kib", static_cast<int>(resident_kib));
}

TEST(library, silent_when_all_is_well) {
  const finished f = run({CLIENT, "nothing"}, "haltpoll:guest_halt_poll_ns=100000");
  EXPECT_EQ(f.status, 0);
  EXPECT_EQ(f.out, "nothing\n");
  EXPECT_EQ(f.err, "");
}

TEST(library, a_bad_governor_is_one_line_and_no_polling) {
  const finished f = run({CLIENT, "data", "read"}, "haltpoll:guest_halt_poll_ns=5000000");
  EXPECT_EQ(f.status, 0);
  EXPECT_EQ(f.err,
            "haltpoll: HALTPOLL_GOVERNOR: guest_halt_poll_ns 5000000 is above the limit 1000000; "
            "this process does not poll\n");
  EXPECT_EQ(f.stats.polls, 0u);
}

TEST(library, a_bad_stats_file_is_one_line) {
  const finished f = run({CLIENT, "nothing"}, longest_window, "/nonexistent/stats");
  EXPECT_EQ(f.status, 0);
  EXPECT_EQ(f.out, "nothing\n");
  EXPECT_EQ(f.err, "haltpoll: HALTPOLL_STATS: cannot open /nonexistent/stats (errno 2)\n");
}

TEST(library, a_window_of_zero_never_polls) {
  const finished f = run({CLIENT, "data", "read"}, "fixed:window_ns=0");
  EXPECT_EQ(f.status, 0);
  EXPECT_EQ(f.stats.polls, 0u);
}

TEST(library, polls_hit_and_blocks_are_counted) {
  const finished f = run({CLIENT, "data", "read"}, longest_window);
  EXPECT_GT(f.stats.polls, 0u);
  EXPECT_LE(f.stats.hits, f.stats.polls);
  EXPECT_GT(f.stats.polled_ns, 0u);
  EXPECT_GT(f.stats.blocks, 0u);
  EXPECT_GT(f.stats.block_ns, 0u);
}

TEST(library, works_before_its_constructor) {
  const finished off = run({CLIENT_EARLY}, nullptr);
  ASSERT_EQ(off.status, 0);
  const finished on = run({CLIENT_EARLY}, longest_window);
  EXPECT_EQ(on.status, 0);
  EXPECT_EQ(on.out, off.out);
  // read and recv one byte; recv and accept refused on a pipe; one descriptor ready; dup2 and close
  // fine.
  EXPECT_EQ(off.out, "before: 1 1 -1 1 1 1 1 -1 0 0\nmain: 1 1 -1 1 1 1 1 -1 0 0\n");
}

TEST(library, on_off_on) {
  std::string last;
  for (const char* governor : {longest_window, static_cast<const char*>(nullptr), longest_window}) {
    const finished f = run({CLIENT, "data", "epoll_wait"}, governor);
    EXPECT_EQ(f.status, 0);
    if (!last.empty()) {
      EXPECT_EQ(f.out, last);
    }
    last = f.out;
  }
}

class one_cpu : public testing::TestWithParam<std::string> {};

TEST_P(one_cpu, two_processes_end_up_backed_off) {
  const finished f = run({CLIENT, "same-cpu", GetParam()}, longest_window);
  ASSERT_EQ(f.status, 0) << f.err;
  // 5000 rounds, two waits each. Polls come in ever larger distances: doubling to 256 takes 9 per
  // process, then one in 256.
  EXPECT_GT(f.stats.contended, 0u);
  EXPECT_GT(f.stats.backed_off, 8000u);
  EXPECT_LT(f.stats.polls, 500u);
}

INSTANTIATE_TEST_SUITE_P(calls, one_cpu,
                         testing::Values("read", "recv", "poll", "epoll_wait", "select"));

}  // namespace
}  // namespace haltpoll::process::test
