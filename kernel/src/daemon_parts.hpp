#pragma once
// daemon_parts: what run_daemon() is made of, apart from the kernel: tests put their own backend in.
#include <functional>
#include <haltpoll/kernel/daemon.hpp>
#include <memory>

namespace haltpoll::kernel {

/// A backend that runs, as far as the daemon's loop is concerned.
class held_backend {
 public:
  virtual ~held_backend() = default;  ///< undoes everything
  virtual void tick() = 0;
  virtual const backend* get() const = 0;  ///< null in tests
};

struct daemon_parts {
  std::function<std::variant<std::unique_ptr<held_backend>, refusal>(const start_options&)> start;
  std::unique_ptr<msr_access> msr;
  std::function<std::string()> host_poll_offered;
  std::function<cpu_list()> online;
};
daemon_parts real_parts();

int run_daemon(const daemon_options& o, const ready_callback& ready, daemon_parts parts);

/// Sends `state` to the service manager named by NOTIFY_SOCKET, if there is one. By hand: libsystemd would bring four
/// compression libraries into a privileged daemon for one datagram (sd_notify(3) describes the protocol for that reason).
void notify(const std::string& state);

/// The process that undoes what would outlive the daemon. Made before there is any link or map. It holds the daemon's lock too
/// (one open file), so that the next daemon begins when everything is undone and not before.
class undo_child {
 public:
  /// Forks. `pins` is what to remove; errors leave ok() false with errno.
  undo_child(const std::string& pins, msr_access& msr, int lock);
  /// Closes the socket and waits: the child undoes what it was told, and ends.
  ~undo_child();
  undo_child(const undo_child&) = delete;
  undo_child& operator=(const undo_child&) = delete;
  bool ok() const { return pid_ > 0; }
  /// Tells it what to write back, before it is changed. False: it could not be told, errno says why.
  bool remember(const saved_host_poll& saved);
  /// Makes another one if somebody killed it. A failure is tried again at the next call; at the daemon's own end there is one more.
  void ensure();

 private:
  void start();  ///< the child has what is remembered by being a copy
  std::string pins_;
  msr_access& msr_;
  int lock_;
  saved_host_poll saved_;
  int socket_ = -1;
  int pid_ = -1;
};

}  // namespace haltpoll::kernel
