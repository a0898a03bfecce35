#pragma once
// kernel_runner: runs steps of a governor inside the kernel (governors.bpf.cpp). Attaches nothing
// and leaves nothing behind: the program runs only when asked, and goes when this object does.
#include <string>

#include "runner.hpp"

struct governors;

namespace haltpoll::golden {

class kernel_runner : public runner {
 public:
  kernel_runner();
  ~kernel_runner() override;

  /// Empty when the program is loaded; else why not, as one line.
  const std::string& error() const { return error_; }
  /// The kernel does not let this process load any such program (as opposed to: it found a fault in
  /// ours).
  bool refused() const { return refused_; }

  /// False if the call failed; error() then says why.
  bool run(step& s) override;
  bool run(state_step& s) override;

 private:
  bool call(int program);

  governors* object_ = nullptr;
  std::string log_;  // what libbpf had to say, for a program the verifier rejects
  std::string error_;
  bool refused_ = false;
};

}  // namespace haltpoll::golden
