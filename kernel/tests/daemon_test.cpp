// The daemon's life with a backend made of plain files: two at once, stopped, killed, refused.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "daemon_parts.hpp"

namespace haltpoll::kernel {
namespace {

namespace fs = std::filesystem;

class directory {
 public:
  directory() {
    char name[] = "/tmp/haltpoll-daemon.XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~directory() { fs::remove_all(path_); }
  std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

void make_pins(const std::string& pins) {
  fs::create_directory(pins);
  std::ofstream(pins + "/control") << "x";
  std::ofstream(pins + "/cpus") << "x";
}

/// Pins are plain files.
struct files_for_pins : held_backend {
  std::string pins;
  explicit files_for_pins(const std::string& p) : pins(p) { make_pins(pins); }
  ~files_for_pins() override { unpin(pins); }
  void tick() override {}
  const backend* get() const override { return nullptr; }
};

/// MSRs are files of a directory, so that the undo process's writes are seen here.
struct files_for_msrs : msr_access {
  std::string base;
  explicit files_for_msrs(std::string b) : base(std::move(b)) {}
  std::string at(u32 cpu) const { return base + "/msr" + std::to_string(cpu); }
  int read(u32 cpu, u32, u64& value) override {
    std::ifstream in(at(cpu));
    return in >> value ? 0 : -ENOENT;
  }
  int write(u32 cpu, u32, u64 value) override {
    if (!fs::exists(at(cpu))) return -ENOENT;
    std::ofstream(at(cpu)) << value;
    return 0;
  }
};

class daemon_life : public ::testing::Test {
 protected:
  directory dir;
  daemon_options options;
  std::vector<pid_t> children;

  void SetUp() override {
    options.lock = dir / "lock";
    options.start.pins = dir / "pins";
    ::unsetenv("NOTIFY_SOCKET");
  }
  void TearDown() override {
    for (const pid_t child : children)
      if (::waitpid(child, nullptr, WNOHANG) == 0) {
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
      }
    eventually([&] { return !lock_held(options.lock); });  // undoing needs the directory
  }

  daemon_parts parts() {
    daemon_parts p;
    p.start = [](const start_options& o) -> std::variant<std::unique_ptr<held_backend>, refusal> {
      return std::make_unique<files_for_pins>(o.pins);
    };
    p.msr = std::make_unique<files_for_msrs>(dir / ".");
    p.host_poll_offered = [] { return std::string(); };
    p.online = [] { return cpu_list{0, 1}; };
    return p;
  }

  /// One that ends with `code` in this process, and reports why exactly once.
  refusal refused_with(int code) {
    int reports = 0;
    refusal why;
    const auto report = [&](const std::variant<const backend*, refusal>& r) {
      ++reports;
      if (const auto* no = std::get_if<refusal>(&r)) why = *no;
    };
    EXPECT_EQ(run_daemon(options, report, parts()), code);
    EXPECT_EQ(reports, 1);
    return why;
  }

  /// A daemon in a process of its own; returns once it reported.
  pid_t daemon() {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ready[0]);
      const int code = run_daemon(
          options,
          [&](const auto& r) { EXPECT_EQ(::write(ready[1], r.index() == 0 ? "y" : "n", 1), 1); },
          parts());
      ::_exit(code);
    }
    ::close(ready[1]);
    char answer = '?';
    EXPECT_EQ(::read(ready[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'y');
    ::close(ready[0]);
    children.push_back(child);
    return child;
  }

  int exit_code_of(pid_t child) {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  /// Until `condition` holds; the limit only ends a test that has failed.
  template <class F>
  static bool eventually(F condition) {
    for (int i = 0; i < 2'000 && !condition(); ++i) ::usleep(5'000);
    return condition();
  }
  bool pinned() const { return fs::exists(dir / "pins"); }
  /// Two CPUs whose host may poll, and a daemon that forbids it.
  void switch_host_poll_off() {
    std::ofstream(dir / "msr0") << 1;
    std::ofstream(dir / "msr1") << 3;
    options.host_poll_control = true;
  }
  std::string msrs() const {
    std::string text, value;
    for (const char* name : {"msr0", "msr1"})
      if (std::ifstream(dir / name) >> value) text += value + " ";
    return text;
  }
  void expect_everything_undone() {
    EXPECT_TRUE(eventually([&] { return !lock_held(options.lock); }));
    EXPECT_FALSE(pinned());
    EXPECT_EQ(msrs(), options.host_poll_control ? "1 3 " : "");
  }
  /// The child of the daemon's that undoes; 0: there is none.
  static pid_t undo_process_of(pid_t daemon) {
    for (const auto& entry : fs::directory_iterator("/proc")) {
      std::ifstream in(entry.path() / "stat");
      pid_t child = 0, parent = 0;
      std::string name, state;
      if (in >> child >> name >> state >> parent && parent == daemon && name == "(haltpoll-undo)" &&
          state != "Z")
        return child;
    }
    return 0;
  }
};

TEST_F(daemon_life, sigterm_ends_it_and_undoes_everything) {
  const pid_t d = daemon();
  EXPECT_TRUE(pinned());
  EXPECT_EQ(daemon_pid(options.lock), d);
  ::kill(d, SIGTERM);
  EXPECT_EQ(exit_code_of(d), 0);
  EXPECT_FALSE(pinned());
  EXPECT_EQ(daemon_pid(options.lock), std::nullopt);
  EXPECT_FALSE(lock_held(options.lock));
}

TEST_F(daemon_life, a_second_one_says_who_runs) {
  const pid_t d = daemon();
  const refusal why = refused_with(69);
  EXPECT_NE(why.what.find("pid " + std::to_string(d)), std::string::npos) << why.what;
  EXPECT_TRUE(pinned()) << "the second one took the first one's pins away";
  EXPECT_EQ(daemon_pid(options.lock), d);
}

TEST_F(daemon_life, killed_it_is_undone_and_the_next_one_starts) {
  std::ofstream(dir / "msr0") << 1;
  std::ofstream(dir / "msr1") << 3;
  options.host_poll_control = true;
  files_for_msrs msrs(dir / ".");
  for (int round = 0; round < 20; ++round) {
    const pid_t d = daemon();
    EXPECT_TRUE(pinned());
    u64 value = 0;
    EXPECT_EQ(msrs.read(0, 0, value), 0);
    EXPECT_EQ(value, 0u);
    ::kill(d, SIGKILL);
    EXPECT_EQ(exit_code_of(d), 128 + SIGKILL);
    EXPECT_EQ(daemon_pid(options.lock), std::nullopt) << "nobody lives";
    if (round % 2 == 0) continue;  // the next one starts while the undo process is at work
    EXPECT_TRUE(eventually([&] { return !lock_held(options.lock); }));
    EXPECT_FALSE(pinned());
    EXPECT_EQ(msrs.read(0, 0, value), 0);
    EXPECT_EQ(value, 1u);
    EXPECT_EQ(msrs.read(1, 0, value), 0);
    EXPECT_EQ(value, 3u);
  }
}

TEST_F(daemon_life, a_signal_to_the_whole_group_leaves_the_undo_process_alive) {
  std::ofstream(dir / "msr0") << 1;
  std::ofstream(dir / "msr1") << 1;
  options.host_poll_control = true;
  const pid_t d = daemon();
  ::setpgid(d, d);
  ::kill(-d, SIGKILL);
  exit_code_of(d);
  EXPECT_TRUE(eventually([&] { return !pinned(); }));
}

TEST_F(daemon_life, signals_to_the_undo_process_do_not_end_it) {
  switch_host_poll_off();
  const pid_t d = daemon();
  pid_t undo = 0;
  ASSERT_TRUE(eventually([&] { return (undo = undo_process_of(d)) != 0; }));
  ASSERT_TRUE(eventually([&] { return ::getsid(undo) == undo; }));
  for (const int s : {SIGTERM, SIGINT, SIGHUP}) ::kill(undo, s);
  ::kill(d, SIGKILL);
  exit_code_of(d);
  expect_everything_undone();
}

TEST_F(daemon_life, a_killed_undo_process_is_replaced) {
  switch_host_poll_off();
  const pid_t d = daemon();
  pid_t undo = 0, next = 0;
  ASSERT_TRUE(eventually([&] { return (undo = undo_process_of(d)) != 0; }));
  ::kill(undo, SIGKILL);
  ASSERT_TRUE(eventually([&] { return (next = undo_process_of(d)) != 0 && next != undo; }));
  EXPECT_TRUE(pinned());
  EXPECT_EQ(msrs(), "0 2 ");
  ::kill(d, SIGKILL);
  exit_code_of(d);
  expect_everything_undone();
}

TEST_F(daemon_life, a_daemon_whose_undo_process_was_killed_undoes_by_itself) {
  switch_host_poll_off();
  const pid_t d = daemon();
  pid_t undo = 0;
  ASSERT_TRUE(eventually([&] { return (undo = undo_process_of(d)) != 0; }));
  ::kill(undo, SIGKILL);
  ::kill(d, SIGTERM);
  EXPECT_EQ(exit_code_of(d), 0);
  expect_everything_undone();
}

TEST_F(daemon_life, killed_between_two_msrs_both_are_put_back) {
  switch_host_poll_off();
  struct killed_at_the_second final : files_for_msrs {
    using files_for_msrs::files_for_msrs;
    pid_t daemon = ::getpid();
    int write(u32 cpu, u32 msr, u64 value) override {
      const int result = files_for_msrs::write(cpu, msr, value);
      if (cpu == 1 && ::getpid() == daemon) ::raise(SIGKILL);
      return result;
    }
  };
  const pid_t d = ::fork();
  if (d == 0) {
    daemon_parts p = parts();
    p.msr = std::make_unique<killed_at_the_second>(dir / ".");
    ::_exit(run_daemon(
        options, [](const auto&) {}, std::move(p)));
  }
  EXPECT_EQ(exit_code_of(d), 128 + SIGKILL);
  expect_everything_undone();
}

TEST_F(daemon_life, the_undo_process_holds_nothing_of_the_daemons_but_the_lock) {
  const pid_t d = daemon();
  pid_t undo = 0;
  ASSERT_TRUE(eventually([&] { return (undo = undo_process_of(d)) != 0; }));
  std::map<std::string, std::string> files;
  EXPECT_TRUE(eventually([&] {
    files.clear();
    std::error_code gone;
    for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(undo) + "/fd", gone))
      files[entry.path().filename()] = fs::read_symlink(entry.path(), gone);
    return files.size() == 5;
  }));
  for (const char* standard : {"0", "1", "2"}) EXPECT_EQ(files[standard], "/dev/null");
  EXPECT_TRUE(files["3"].starts_with("socket:")) << files["3"];
  EXPECT_EQ(files["4"], options.lock);
}

TEST_F(daemon_life, sighup_is_ignored) {
  const pid_t d = daemon();
  ::kill(d, SIGHUP);
  ::kill(d, SIGTERM);
  EXPECT_EQ(exit_code_of(d), 0);
}

TEST_F(daemon_life, it_ticks) {
  daemon_parts p = parts();
  struct ticking final : files_for_pins {
    using files_for_pins::files_for_pins;
    void tick() override { ::kill(::getpid(), SIGTERM); }
  };
  p.start = [](const start_options& o) -> std::variant<std::unique_ptr<held_backend>, refusal> {
    return std::make_unique<ticking>(o.pins);
  };
  EXPECT_EQ(run_daemon(
                options, [](const auto&) {}, std::move(p)),
            0);
  expect_everything_undone();
}

TEST_F(daemon_life, stale_pins_do_not_bar_a_start) {
  make_pins(options.start.pins);  // as after kill -9 of both processes
  ASSERT_TRUE(pinned());
  const pid_t d = daemon();
  ::kill(d, SIGINT);
  EXPECT_EQ(exit_code_of(d), 0);
  EXPECT_FALSE(pinned());
}

TEST_F(daemon_life, stop_waits_until_everything_is_undone) {
  const pid_t d = daemon();
  bool was_running = false;
  const auto no = stop_daemon(was_running, options.lock);
  EXPECT_FALSE(no) << no->what;
  EXPECT_TRUE(was_running);
  EXPECT_FALSE(pinned());
  EXPECT_FALSE(lock_held(options.lock));
  EXPECT_EQ(exit_code_of(d), 0);
}

TEST_F(daemon_life, stop_where_nothing_runs) {
  bool was_running = true;
  EXPECT_FALSE(stop_daemon(was_running, options.lock));
  EXPECT_FALSE(was_running);
  std::ofstream(options.lock) << ::getpid()
                              << "\n";  // a stale file without a lock: nobody may be hit
  was_running = true;
  EXPECT_FALSE(stop_daemon(was_running, options.lock));
  EXPECT_FALSE(was_running);
}

TEST_F(daemon_life, stop_waits_for_the_undo_of_a_daemon_that_was_killed) {
  switch_host_poll_off();
  const pid_t d = daemon();
  ::kill(d, SIGKILL);
  exit_code_of(d);
  bool was_running = false;
  EXPECT_FALSE(stop_daemon(was_running, options.lock));
  EXPECT_FALSE(lock_held(options.lock));
  EXPECT_FALSE(pinned());
  EXPECT_EQ(msrs(), "1 3 ");
}

TEST_F(daemon_life, a_daemon_that_does_not_end_is_named) {
  const pid_t d = daemon();
  ::kill(d, SIGSTOP);
  bool was_running = false;
  const auto no = stop_daemon(was_running, options.lock, 50);
  ASSERT_TRUE(no);
  EXPECT_EQ(no->exit_code, 70);
  EXPECT_EQ(no->what, "pid " + std::to_string(d) + ": has not ended within 50 ms of SIGTERM");
  ::kill(d, SIGCONT);
  EXPECT_EQ(exit_code_of(d), 0);
}

TEST_F(daemon_life, a_pid_that_is_another_process_by_now_is_not_signalled) {
  const pid_t innocent = ::fork();
  if (innocent == 0) {
    ::pause();
    ::_exit(0);
  }
  children.push_back(innocent);
  const int held = ::open(options.lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  ASSERT_EQ(::flock(held, LOCK_EX | LOCK_NB), 0);
  std::ofstream(options.lock) << innocent << "\n";
  bool was_running = false;
  const auto no = stop_daemon(was_running, options.lock, 50);
  ::close(held);
  ASSERT_TRUE(no);
  EXPECT_EQ(no->exit_code, 70);
  EXPECT_EQ(::waitpid(innocent, nullptr, WNOHANG), 0) << "it was ended";
}

TEST_F(daemon_life, stopping_it_takes_its_user) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  const pid_t d = daemon();
  fs::permissions(fs::path(options.lock).parent_path(), fs::perms(0755));
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(1);
    bool was_running = false;
    const auto no = stop_daemon(was_running, options.lock);
    ::_exit(no && was_running ? no->exit_code : 0);
  }
  EXPECT_EQ(exit_code_of(stranger), 77);
  EXPECT_EQ(daemon_pid(options.lock), d);
}

TEST_F(daemon_life, a_refused_start_reports_once_and_leaves_nothing) {
  daemon_parts p = parts();
  p.start = [](const start_options&) -> std::variant<std::unique_ptr<held_backend>, refusal> {
    return refusal{77, "no", "", ""};
  };
  int reports = 0;
  EXPECT_EQ(run_daemon(
                options, [&](const auto& r) { reports += r.index() == 1 ? 1 : 100; }, std::move(p)),
            77);
  EXPECT_EQ(reports, 1);
  EXPECT_FALSE(pinned());
  EXPECT_FALSE(lock_held(options.lock));
}

TEST_F(daemon_life, host_poll_that_cannot_be_switched_off_on_every_cpu_stays_on_everywhere) {
  std::ofstream(dir / "msr0") << 1;  // CPU 1 has none
  options.host_poll_control = true;
  const refusal why = refused_with(69);
  EXPECT_NE(why.what.find("CPU 1"), std::string::npos) << why.what;
  u64 value = 0;
  EXPECT_EQ(files_for_msrs(dir / ".").read(0, 0, value), 0);
  EXPECT_EQ(value, 1u);
  EXPECT_FALSE(pinned());
}

TEST_F(daemon_life, unwritable_lock) {
  options.lock = dir / "missing/lock";
  const refusal why = refused_with(69);
  EXPECT_NE(why.what.find("missing/lock: No such file"), std::string::npos) << why.what;
}

TEST_F(daemon_life, the_service_manager_hears_of_it) {
  for (const std::string& name :
       {dir / "notify", "@haltpoll_daemon_test_" + std::to_string(::getpid())}) {
    const int listener = ::socket(AF_UNIX, SOCK_DGRAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path, sizeof address.sun_path - 1);
    if (name[0] == '@') address.sun_path[0] = '\0';
    ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address),
                     static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())),
              0);
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
    const pid_t d = daemon();
    ::unsetenv("NOTIFY_SOCKET");
    ::kill(d, SIGTERM);
    EXPECT_EQ(exit_code_of(d), 0);
    char text[256] = "";
    ASSERT_GT(::recv(listener, text, sizeof text - 1, MSG_DONTWAIT), 0);
    EXPECT_TRUE(std::string(text).starts_with("READY=1\n")) << text;
    ASSERT_GT(::recv(listener, text, sizeof text - 1, MSG_DONTWAIT), 0);
    EXPECT_TRUE(std::string(text).starts_with("STOPPING=1")) << text;
    ::close(listener);
  }
}

}  // namespace
}  // namespace haltpoll::kernel
