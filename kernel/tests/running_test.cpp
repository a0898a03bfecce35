#include <bpf/bpf.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <haltpoll/kernel/running.hpp>
#include <thread>

#include "sysroot.hpp"

namespace haltpoll::kernel {
namespace {

int memory_file(std::size_t bytes) {
  const int fd = memfd_create("array", MFD_CLOEXEC);
  EXPECT_EQ(ftruncate(fd, static_cast<off_t>(bytes)), 0);
  return fd;
}

TEST(mapped_array, maps_what_others_see) {
  const int fd = memory_file(3 * sizeof(cpu_record));
  const int other = dup(fd);
  mapped_array array(fd, sizeof(cpu_record), 3);
  ASSERT_NE(array.data(), nullptr);
  EXPECT_EQ(array.entries(), 3U);
  static_cast<cpu_record*>(array.data())[2].window_cap_ns = 7;
  u64 seen = 0;
  const auto offset =
      static_cast<off_t>(2 * sizeof(cpu_record) + offsetof(cpu_record, window_cap_ns));
  EXPECT_EQ(pread(other, &seen, sizeof seen, offset), static_cast<ssize_t>(sizeof seen));
  EXPECT_EQ(seen, 7U);
  close(other);
}

TEST(mapped_array, moves_and_closes) {
  const int fd = memory_file(4096);
  {
    mapped_array first(fd, 4096, 1);
    void* at = first.data();
    mapped_array second(std::move(first));
    EXPECT_EQ(second.data(), at);
    mapped_array third;
    third = std::move(second);
    EXPECT_EQ(third.data(), at);
    EXPECT_NE(fcntl(fd, F_GETFD), -1);
  }
  EXPECT_EQ(fcntl(fd, F_GETFD), -1);
}

TEST(mapped_array, says_that_it_could_not) {
  const mapped_array none(-1, 4096, 1);
  EXPECT_EQ(none.data(), nullptr);
}

TEST(totals, are_sums_over_cpus) {
  std::vector<cpu_record> records(3);
  for (cpu_record& r : records) {
    r.periods = 1, r.polls = 2, r.hits = 3, r.misses = 4, r.hits_without_task = 5, r.pending = 6;
    r.halts = 7, r.polled_ns = 8, r.idle_ns = 9, r.wakes_without_interrupt = 10;
  }
  const totals t = sum(records);
  EXPECT_EQ(t.periods, 3U);
  EXPECT_EQ(t.polls, 6U);
  EXPECT_EQ(t.hits, 9U);
  EXPECT_EQ(t.misses, 12U);
  EXPECT_EQ(t.hits_without_task, 15U);
  EXPECT_EQ(t.pending, 18U);
  EXPECT_EQ(t.halts, 21U);
  EXPECT_EQ(t.polled_ns, 24U);
  EXPECT_EQ(t.idle_ns, 27U);
  EXPECT_EQ(t.wakes_without_interrupt, 30U);
}

TEST(store, puts_every_byte_in_force) {
  control c;
  c.need_resched = 8;
  core::any::params wanted;
  std::memset(static_cast<void*>(&wanted), 0x5a, sizeof wanted);
  store(c, wanted);
  EXPECT_EQ(std::memcmp(&c.governor, &wanted, sizeof wanted), 0);
  EXPECT_EQ(c.need_resched, 8U);
}

/// As a program that runs while parameters are rewritten.
TEST(store, whoever_sees_the_new_governor_sees_its_parameters) {
  core::any::params fixed;
  fixed.which = core::any::kind::fixed;
  fixed.fixed.window_ns = 0x0001'2345'0001'2345;
  std::vector<control> all(2000);
  u64 wrong = 0;
  std::thread reader([&] {
    for (control& c : all) {
      const auto* which = reinterpret_cast<const u32*>(&c.governor.which);
      while (__atomic_load_n(which, __ATOMIC_ACQUIRE) != static_cast<u32>(core::any::kind::fixed))
        std::this_thread::yield();
      wrong +=
          __atomic_load_n(&c.governor.fixed.window_ns, __ATOMIC_RELAXED) != fixed.fixed.window_ns;
    }
  });
  for (control& c : all) store(c, fixed);
  reader.join();
  EXPECT_EQ(wrong, 0U);
}

TEST(running, nothing_pinned) {
  const sysroot tree;
  if (bpf_obj_get(tree.path("nothing").c_str()) < 0 && errno == ENOSYS)
    GTEST_SKIP() << "no bpf() system call here";
  const auto r = running::open(tree.path("nothing"));
  ASSERT_TRUE(std::holds_alternative<refusal>(r));
  const auto& why = std::get<refusal>(r);
  EXPECT_EQ(why.hint, "haltpoll start");
  EXPECT_EQ(why.exit_code, 69);
  EXPECT_TRUE(why.what == "the kernel backend is not running") << why.what;
}

/// In a process of its own with its own mounts: `directory` is a file system for pins. The exit code of `body`, or why it did
/// not run.
std::variant<int, std::string> with_pins(const std::string& directory,
                                         const std::function<int()>& body) {
  constexpr int no_mounts = 100, no_maps = 101;
  const int child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("bpf", directory.c_str(), "bpf", 0, "mode=0755") != 0)
      _exit(no_mounts);
    const int probe = bpf_map_create(BPF_MAP_TYPE_ARRAY, "probe", 4, 8, 1, nullptr);
    if (probe < 0) _exit(no_maps);
    close(probe);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status)) return -WTERMSIG(status);
  if (WEXITSTATUS(status) == no_mounts) return "mounting a bpf file system is not permitted here";
  if (WEXITSTATUS(status) == no_maps) return "creating BPF maps is not permitted here";
  return WEXITSTATUS(status);
}

bool pin(const std::string& path, std::size_t value_size, u32 entries,
         const void* first = nullptr) {
  bpf_map_create_opts options{};
  options.sz = sizeof options;
  options.map_flags = BPF_F_MMAPABLE;
  const int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "haltpoll_test", sizeof(u32),
                                static_cast<u32>(value_size), entries, &options);
  const u32 key = 0;
  return fd >= 0 && (first == nullptr || bpf_map_update_elem(fd, &key, first, BPF_ANY) == 0) &&
         bpf_obj_pin(fd, path.c_str()) == 0;
}

/// What running::open() answers for these maps: 0 it opens, else the refusal's exit code; its text goes to `what`.
int open_pinned(const std::string& directory, const std::string& what) {
  const auto r = running::open(directory);
  if (const auto* why = std::get_if<refusal>(&r)) {
    std::ofstream(what) << why->what;
    return why->exit_code;
  }
  const auto& maps = std::get<running>(r);
  // Mapped, not copied: what is written here is there when it is opened again.
  maps.settings().max_pollers = 3;
  maps.cpus()[1].window_cap_ns = 5;
  const auto again = running::open(directory);
  const auto& seen = std::get<running>(again);
  return seen.settings().max_pollers == 3 && seen.cpus().size() == 2 &&
                 seen.cpus()[1].window_cap_ns == 5
             ? 0
             : 1;
}

struct pinned_case {
  const char* name;
  std::size_t control_size, record_size;
  u32 version;
  uid_t user;
  int exit_code;
  const char* what;
};

TEST(running, pinned_maps) {
  const pinned_case cases[] = {
      {"ours", sizeof(control), sizeof(cpu_record), maps_version, 0, 0, ""},
      {"other_version", sizeof(control), sizeof(cpu_record), maps_version + 1, 0, 69,
       "pins belongs to another version of haltpoll"},
      {"smaller_control", sizeof(control) - 8, sizeof(cpu_record), maps_version, 0, 69,
       "control belongs to another version of haltpoll"},
      {"larger_record", sizeof(control), sizeof(cpu_record) + 64, maps_version, 0, 69,
       "cpus belongs to another version of haltpoll"},
      {"other_user", sizeof(control), sizeof(cpu_record), maps_version, 65534, 77, "/control: "},
  };
  for (const pinned_case& c : cases) {
    sysroot tree;
    tree.file("what", "");
    std::filesystem::create_directory(tree.path("pins"));
    std::filesystem::permissions(tree.path("what"), std::filesystem::perms::all);
    const auto result = with_pins(tree.path("pins"), [&] {
      control settings;
      settings.version = c.version;
      std::vector<char> value(std::max(c.control_size, sizeof settings));
      std::memcpy(value.data(), &settings, sizeof settings);
      if (!pin(tree.path("pins/control"), c.control_size, 1, value.data()) ||
          !pin(tree.path("pins/cpus"), c.record_size, 2) || setuid(c.user) != 0)
        return 2;
      return open_pinned(tree.path("pins"), tree.path("what"));
    });
    if (const auto* why = std::get_if<std::string>(&result)) GTEST_SKIP() << *why;
    std::ifstream in(tree.path("what"));
    std::string what;
    std::getline(in, what);
    EXPECT_EQ(std::get<int>(result), c.exit_code) << c.name << ": " << what;
    EXPECT_NE(what.find(c.what), std::string::npos) << c.name << ": " << what;
  }
}

}  // namespace
}  // namespace haltpoll::kernel
