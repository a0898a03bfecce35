#pragma once
// launch: everything `haltpoll run` and the bench need to put a command under the preload library.
#include <haltpoll/process/stats.hpp>
#include <string>
#include <vector>

namespace haltpoll::process {

/// Why a command cannot be polled for, and what to do about it. Empty `problem`: it can.
struct verdict {
  std::string problem;  ///< one line without an end: "/bin/foo is statically linked"
  std::string hint;
  int exit_code = 0;  ///< of the contract: 69 not possible, 77 not permitted, 64 command not found
};

/// Looks `command` up as execvp would (PATH, #! interpreter) and examines the ELF file: static, Go,
/// set-uid or file capabilities, another architecture or ELF class, not executable, not found.
verdict examine(const std::string& command);

/// Path of libhaltpoll_preload.so: $HALTPOLL_PRELOAD_LIBRARY, beside the installed program, or in
/// the build tree. Empty if there is none; `looked_at` then lists the places.
std::string preload_library(std::vector<std::string>* looked_at = nullptr);

/// A stats page in a memfd of this process. Children find it by /proc/PID/fd, so nothing is left
/// behind however we die.
class stats_memory {
 public:
  stats_memory();  ///< check ok()
  ~stats_memory();
  stats_memory(const stats_memory&) = delete;
  stats_memory& operator=(const stats_memory&) = delete;
  bool ok() const { return page_ != nullptr; }
  std::string path() const;  ///< for HALTPOLL_STATS
  const stats_page& page() const { return *page_; }

 private:
  int fd_ = -1;
  stats_page* page_ = nullptr;
};

/// Environment variables ("NAME=value") to add for a command under the library: LD_PRELOAD (ours
/// before what the caller had), HALTPOLL_GOVERNOR and, unless empty, HALTPOLL_STATS. `spec` must be
/// one that core::spec::parse takes.
std::vector<std::string> preload_environment(const std::string& library, const std::string& spec,
                                             const std::string& stats_path);

}  // namespace haltpoll::process
