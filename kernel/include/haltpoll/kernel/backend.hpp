#pragma once
// backend: the programs attached, calibrated and polling, for as long as this object lives.
//
// start() goes: probe (why a kernel refuses is found there), guards, load, attach with polling off, let every CPU go idle some
// tens of times, deduce the flag bits, look whether idle CPUs are woken without an interrupt already, pin, poll. Whatever
// fails, everything done before is undone: links and maps hang on descriptors of this process.
#include <haltpoll/kernel/calibration.hpp>
#include <haltpoll/kernel/guards.hpp>
#include <haltpoll/kernel/programs.hpp>
#include <haltpoll/kernel/running.hpp>
#include <memory>

namespace haltpoll::kernel {

struct start_options {
  core::any::params governor;
  guard_options guards;
  std::string pins = pin_directory;  ///< empty: pin nothing (the bench's own backend)
  bool enabled =
      true;  ///< false: attached and calibrated, but not polling until settings().enabled is set
};

/// Makes CPUs go idle and be woken; a fake in tests.
class exerciser {
 public:
  virtual ~exerciser() = default;
  /// Sends each CPU to idle `times` times and wakes it from another CPU (by a timer where there is one CPU only). Empty or what
  /// went wrong.
  virtual std::string exercise(const cpu_list& cpus, u32 times) = 0;
};
/// Two threads, pinned to one CPU after the other, for some milliseconds; affinity of the caller is left as it was.
std::unique_ptr<exerciser> pinned_threads();

/// What start() needs from the machine.
struct surroundings {
  bpf_adapter& probe_with;
  environment env;
  programs& loaded;
  exerciser& cpus;
  guarded_machine machine;
  architecture arch;
};

class backend {
 public:
  static std::variant<std::unique_ptr<backend>, refusal> start(const start_options& o,
                                                               surroundings s);
  /// Polling off, programs detached, pins removed.
  ~backend();
  backend(const backend&) = delete;
  backend& operator=(const backend&) = delete;

  control& settings() const { return programs_.settings(); }
  std::span<cpu_record> cpus() const { return programs_.cpus(); }
  hook entry_hook() const { return hook_; }
  /// Called about once a second by who owns the backend: follows steal time and CPUs that come online. `sysroot` for tests.
  void tick(const std::string& sysroot = "");

 private:
  backend(programs& p, const start_options& o, const guarded_machine& m);
  programs& programs_;
  start_options options_;
  guarded_machine machine_;
  steal_guard steal_;
  hook hook_ = hook::fexit;
  bool pinned_ = false;
};

/// A backend on this machine's kernel, with everything it needs.
class local_backend {
 public:
  static std::variant<std::unique_ptr<local_backend>, refusal> start(const start_options& o);
  backend& operator*() const { return *backend_; }
  backend* operator->() const { return backend_.get(); }

 private:
  std::unique_ptr<bpf_adapter> probe_with_ = libbpf_adapter();
  std::unique_ptr<programs> programs_ = bpf_programs();
  std::unique_ptr<exerciser> cpus_ = pinned_threads();
  std::unique_ptr<backend> backend_;  // last, so that it goes first: it uses the programs
};

/// Removes the pins of a backend that died without undoing them. Missing ones are no error; 0 or -errno.
int unpin(const std::string& directory);

}  // namespace haltpoll::kernel
