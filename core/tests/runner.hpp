#pragma once
// runner: who runs a step. This one does it here, in user space; kernel_runner inside the kernel.
#include "state_step.hpp"
#include "step.hpp"

namespace haltpoll::golden {

class runner {
 public:
  runner() = default;
  virtual ~runner() = default;
  runner(const runner&) = delete;
  runner& operator=(const runner&) = delete;

  /// Runs `s`. False: could not.
  virtual bool run(step& s) {
    golden::run(s);
    return true;
  }
  virtual bool run(state_step& s) {
    golden::run(s);
    return true;
  }
};

}  // namespace haltpoll::golden
