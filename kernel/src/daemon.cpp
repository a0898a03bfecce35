#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "daemon_parts.hpp"

namespace haltpoll::kernel {
namespace {

/// A descriptor that closes itself.
class descriptor {
 public:
  explicit descriptor(int fd) : fd_(fd) {}
  ~descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  descriptor(descriptor&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  descriptor& operator=(descriptor&&) = delete;
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }

 private:
  int fd_;
};

refusal cannot(const std::string& what) { return {70, what + ": " + std::strerror(errno), "", ""}; }

/// The lock, held, with our pid in the file; or who holds it. The file stays when we end: removing it would let two daemons
/// lock two files of one name.
std::variant<descriptor, refusal> take_lock(const std::string& path) {
  descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!file.ok())
    return refusal{errno == EACCES || errno == EPERM ? 77 : 69, path + ": " + std::strerror(errno),
                   "", errno == EACCES || errno == EPERM ? "the kernel backend takes root" : ""};
  // A daemon that was killed leaves the lock to its undo process for some milliseconds.
  constexpr int patience_ms = 2'000, step_ms = 5;
  int waited = 0;
  bool taken = false;
  while (!(taken = ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) && errno == EWOULDBLOCK &&
         !daemon_pid(path) && waited < patience_ms) {
    ::poll(nullptr, 0, step_ms);
    waited += step_ms;
  }
  if (!taken) {
    if (errno != EWOULDBLOCK && !lock_held(path)) return cannot(path);
    const auto holder = daemon_pid(path);
    return refusal{
        69, "already running" + (holder ? ": pid " + std::to_string(*holder) : std::string()),
        path + " is locked", "haltpoll status, haltpoll stop"};
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(file.get(), 0) != 0 ||
      ::pwrite(file.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size()))
    return cannot(path);
  return file;
}

/// The signals that end the daemon, blocked for the whole process and read from a descriptor, and SIGHUP ignored: settings are
/// changed in the maps, and a daemon outlives its terminal. As they were again afterwards.
class ending_signals {
 public:
  ending_signals() {
    ::sigemptyset(&set_);
    for (const int s : {SIGTERM, SIGINT}) ::sigaddset(&set_, s);
    ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGHUP, &ignore, &hangup_before_);
    fd_ = ::signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~ending_signals() {
    // A second one asked for the same; unblocked, it would kill the process now.
    for (signalfd_siginfo more{}; fd_ >= 0 && ::read(fd_, &more, sizeof more) > 0;) {
    }
    if (fd_ >= 0) ::close(fd_);
    ::sigaction(SIGHUP, &hangup_before_, nullptr);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  ending_signals(const ending_signals&) = delete;
  ending_signals& operator=(const ending_signals&) = delete;
  int fd() const { return fd_; }

 private:
  sigset_t set_{}, before_{};
  struct sigaction hangup_before_ {};
  int fd_ = -1;
};

/// Once a second, until a signal ends it.
void loop(held_backend& backend, undo_child& undo, int signals) {
  const descriptor timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  const itimerspec every_second{{1, 0}, {1, 0}};
  if (timer.ok()) ::timerfd_settime(timer.get(), 0, &every_second, nullptr);
  pollfd waiting[] = {{signals, POLLIN, 0}, {timer.get(), POLLIN, 0}};
  for (;;) {
    if (::poll(waiting, 2, -1) < 0 && errno != EINTR) return;
    if ((waiting[0].revents & POLLIN) != 0) {
      // Taken, or it would be delivered once the mask is what it was.
      signalfd_siginfo taken{};
      if (::read(signals, &taken, sizeof taken) == sizeof taken) return;
    }
    u64 expirations = 0;
    if ((waiting[1].revents & POLLIN) != 0 &&
        ::read(timer.get(), &expirations, sizeof expirations) == sizeof expirations) {
      undo.ensure();
      backend.tick();
    }
  }
}

class real_backend final : public held_backend {
 public:
  void tick() override { (*backend_)->tick(); }
  const backend* get() const override { return &**backend_; }

  static std::variant<std::unique_ptr<held_backend>, refusal> start(const start_options& o) {
    auto started = local_backend::start(o);
    if (auto* no = std::get_if<refusal>(&started)) return *no;
    auto held = std::make_unique<real_backend>();
    held->backend_ = std::move(std::get<std::unique_ptr<local_backend>>(started));
    return held;
  }

 private:
  std::unique_ptr<local_backend> backend_;
};

/// From the lock on; everything it makes is undone when it returns.
std::optional<refusal> hold(const daemon_options& o, const ready_callback& ready,
                            daemon_parts& parts) {
  auto lock = take_lock(o.lock);
  if (auto* no = std::get_if<refusal>(&lock)) return *no;
  if (!o.start.pins.empty())
    unpin(o.start.pins);  // of a daemon that was killed together with its undo child
  const ending_signals signals;
  if (signals.fd() < 0) return cannot("signalfd");
  undo_child undo(o.start.pins, *parts.msr, std::get<descriptor>(lock).get());
  if (!undo.ok()) return cannot("fork");

  saved_host_poll found;
  if (o.host_poll_control) {
    if (const std::string why = parts.host_poll_offered(); !why.empty())
      return refusal{69, "host_poll_control: " + why, "", "leave host_poll_control out"};
    auto read = read_host_poll(*parts.msr, parts.online());
    if (auto* no = std::get_if<refusal>(&read)) return *no;
    found = std::move(std::get<saved_host_poll>(read));
  }
  auto started = parts.start(o.start);
  if (auto* no = std::get_if<refusal>(&started)) return *no;
  const std::unique_ptr<held_backend> backend =
      std::move(std::get<std::unique_ptr<held_backend>>(started));
  // Told before anything is written: whenever we are killed, the undo process knows what to write back.
  if (!undo.remember(found)) return cannot("socket to the undo process");
  if (auto no = switch_host_poll_off(*parts.msr, found)) return *no;
  ::malloc_trim(0);  // the kernel's BTF, several MiB, was in memory while the programs were loaded
  ready(backend->get());
  notify("READY=1\nSTATUS=polling\nMAINPID=" + std::to_string(::getpid()));
  loop(*backend, undo, signals.fd());
  notify("STOPPING=1");
  return std::nullopt;
}

}  // namespace

daemon_parts real_parts() {
  return {real_backend::start, device_msr(), [] { return host_poll_offered(); },
          [] { return read_guarded_machine().online; }};
}

int run_daemon(const daemon_options& o, const ready_callback& ready, daemon_parts parts) {
  bool reported = false;
  const auto once = [&](const std::variant<const backend*, refusal>& r) {
    reported = true;
    ready(r);
  };
  const auto no = hold(o, once, parts);
  if (no && !reported) ready(*no);
  return no ? no->exit_code : 0;
}

int run_daemon(const daemon_options& o, const ready_callback& ready) {
  return run_daemon(o, ready, real_parts());
}

}  // namespace haltpoll::kernel
