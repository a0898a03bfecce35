#pragma once
// backends: what each backend that is built could do on this machine, and why not. Found by trying.
#include <optional>
#include <string>
#include <vector>

#include "facts.hpp"

namespace haltpoll::cli {

/// Of the kernel backend where it could be attached.
struct kernel_findings {
  std::string hook;
  u64 need_resched, polling_flag;  ///< masks in thread_info.flags; polling_flag 0: there is none
};

struct backend {
  const char* name;
  bool possible;
  std::string reason;                ///< one line: how it would work, or what stands against it
  std::vector<std::string> details;  ///< what else matters
  std::string hint;                  ///< what to do instead; empty: nothing to do
  std::optional<kernel_findings> found;
};

/// Loads, attaches, calibrates and detaches the BPF programs of `kernel`; changes nothing that stays.
std::vector<backend> probe_backends(const facts& f);

}  // namespace haltpoll::cli
