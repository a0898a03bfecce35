#pragma once
// running: the maps of a backend that runs, opened where they are pinned. For `status`, `set`, `get` and the bench: no
// socket, no request; what is written is in force at the next idle entry of each CPU.
#include <haltpoll/kernel/maps.hpp>
#include <haltpoll/kernel/refusal.hpp>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace haltpoll::kernel {

inline constexpr const char* pin_directory = "/sys/fs/bpf/haltpoll";
inline constexpr const char* lock_file = "/run/haltpoll.pid";

/// A mapped BPF array, readable and writable; unmaps and closes with itself.
class mapped_array {
 public:
  mapped_array() = default;
  /// Takes over `fd`. data() is null where mapping failed, with errno.
  mapped_array(int fd, std::size_t value_size, std::size_t entries);
  mapped_array(mapped_array&& o) noexcept;
  mapped_array& operator=(mapped_array&& o) noexcept;
  ~mapped_array();
  void* data() const { return at_; }
  std::size_t entries() const { return entries_; }

 private:
  void* at_ = nullptr;
  std::size_t bytes_ = 0, entries_ = 0;
  int fd_ = -1;
};

/// Somebody holds `lock`: a daemon, or for some milliseconds the undo process of one that died.
bool lock_held(const std::string& lock = lock_file);
/// Pid of the daemon that holds `lock`; nothing if none lives, however the last one died.
std::optional<int> daemon_pid(const std::string& lock = lock_file);

class running {
 public:
  /// Refuses where nothing is pinned (69, "not running"), where the maps are those of another version (69), without the
  /// right to open them (77).
  static std::variant<running, refusal> open(const std::string& directory = pin_directory);

  control& settings() const { return *static_cast<control*>(control_.data()); }
  std::span<cpu_record> cpus() const {
    return {static_cast<cpu_record*>(cpus_.data()), cpus_.entries()};
  }

 private:
  mapped_array control_, cpus_;
};

/// Sums over CPUs, for rates and proofs.
struct totals {
  u64 periods = 0, polls = 0, hits = 0, misses = 0, hits_without_task = 0, pending = 0, halts = 0,
      polled_ns = 0, idle_ns = 0, wakes_without_interrupt = 0;
};
totals sum(std::span<const cpu_record> cpus);

/// Puts new parameters in force, one aligned word after the other: see maps.hpp for what a program may meanwhile see.
void store(control& c, const core::any::params& governor);

}  // namespace haltpoll::kernel
