#pragma once
// backends: what each backend that is built could do on this machine, and why not. Found by trying.
#include <string>
#include <vector>

#include "facts.hpp"

namespace haltpoll::cli {

struct backend {
  const char* name;
  bool possible;
  std::string reason;                ///< one line: how it would work, or what stands against it
  std::vector<std::string> details;  ///< what else matters
  std::string hint;                  ///< what to do instead; empty: nothing to do
};

/// Loads, attaches and detaches a BPF program for `kernel`; changes nothing that stays.
std::vector<backend> probe_backends(const facts& f);

}  // namespace haltpoll::cli
