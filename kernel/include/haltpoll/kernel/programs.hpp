#pragma once
// programs: the BPF programs and maps of the backend, as an interface: one implementation on libbpf, fakes in tests, so that
// all above is tested without root.
#include <haltpoll/kernel/maps.hpp>
#include <haltpoll/kernel/probe.hpp>
#include <memory>
#include <span>
#include <string>

namespace haltpoll::kernel {

/// Where the programs hang; `inner` is optional, the others are not.
enum class place : u32 { entry, inner, exit, elided_interrupt };
const char* name_of(place p);

class programs {
 public:
  /// Detaches everything; the maps live on while they are pinned.
  virtual ~programs() = default;
  /// Loads the programs with `h` for the entry, polling nothing. 0 or -errno; log() then has the verifier's last line.
  virtual int load(hook h) = 0;
  /// 0 or -errno.
  virtual int attach(place p) = 0;
  virtual void detach() = 0;
  virtual std::string log() const = 0;
  /// Valid from load() on, for as long as this object lives.
  virtual control& settings() = 0;
  virtual std::span<cpu_record> cpus() = 0;  ///< by CPU number, every possible CPU
  /// Pins the maps as `directory`/control and /cpus, which must not be there. 0 or -errno, and then nothing is pinned.
  virtual int pin(const std::string& directory) = 0;
};

std::unique_ptr<programs> bpf_programs();

}  // namespace haltpoll::kernel
