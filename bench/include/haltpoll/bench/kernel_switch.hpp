#pragma once
// kernel_switch: the kernel backend as the bench uses it: attached for the whole run, polling in the samples of its arm only.
//
// `off` in such a run means attached and switched off, not "never attached": each idle entry then runs a few instructions of BPF that a
// machine without us does not (docs/bench-runner.md has the figure). Attaching and detaching for each sample would measure the
// kernel's text patching instead. A run without the kernel arm attaches nothing.
#include <haltpoll/kernel/backend.hpp>
#include <haltpoll/kernel/refusal.hpp>
#include <haltpoll/kernel/running.hpp>
#include <memory>
#include <string>
#include <variant>

namespace haltpoll::bench {

class kernel_switch {
 public:
  /// Leaves the backend as it was found.
  virtual ~kernel_switch() = default;
  virtual void poll(bool on) = 0;
  virtual kernel::totals counted() const = 0;
  virtual core::any::params governor() const = 0;  ///< in force
};

/// The backend of the daemon that runs, with the daemon's governor; where none runs one of our own with `governor`, which goes
/// with this process. A daemon's backend is switched on again by the daemon within a second if we are killed.
std::variant<std::shared_ptr<kernel_switch>, kernel::refusal> attach_kernel(
    const core::any::params& governor);

}  // namespace haltpoll::bench
