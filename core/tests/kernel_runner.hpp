#pragma once
// kernel_runner: runs steps of a governor inside the kernel (governors.bpf.cpp). Attaches nothing
// and leaves nothing behind: the program runs only when asked, and goes when this object does.
#include <string>

#include "step.hpp"

struct governors;

namespace haltpoll::golden {

class kernel_runner {
 public:
  kernel_runner();
  ~kernel_runner();
  kernel_runner(const kernel_runner&) = delete;
  kernel_runner& operator=(const kernel_runner&) = delete;

  /// Empty when the program is loaded; else why not, as one line.
  const std::string& error() const { return error_; }
  /// The kernel does not let this process load any such program (as opposed to: it found a fault in
  /// ours).
  bool refused() const { return refused_; }

  /// Runs `s` in the kernel. False if the call failed; error() then says why.
  bool run(step& s);

 private:
  governors* object_ = nullptr;
  std::string log_;  // what libbpf had to say, for a program the verifier rejects
  std::string error_;
  bool refused_ = false;
};

}  // namespace haltpoll::golden
