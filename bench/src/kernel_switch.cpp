#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <haltpoll/bench/kernel_switch.hpp>

namespace haltpoll::bench {
namespace {

using kernel::refusal;

/// Our own: programs on descriptors of this process.
class own_backend final : public kernel_switch {
 public:
  explicit own_backend(std::unique_ptr<kernel::local_backend> b) : backend_(std::move(b)) {}
  void poll(bool on) override { std::atomic_ref(own().settings().enabled).store(on ? 1 : 0); }
  kernel::totals counted() const override { return kernel::sum(own().cpus()); }
  core::any::params governor() const override { return own().settings().governor; }

  static std::variant<std::shared_ptr<kernel_switch>, refusal> attach(
      const core::any::params& governor) {
    kernel::start_options o;
    o.governor = governor;
    o.pins = "";
    o.enabled = false;
    auto started = kernel::local_backend::start(o);
    if (auto* no = std::get_if<refusal>(&started)) return *no;
    return std::make_shared<own_backend>(
        std::move(std::get<std::unique_ptr<kernel::local_backend>>(started)));
  }

 private:
  kernel::backend& own() const { return **backend_; }
  std::unique_ptr<kernel::local_backend> backend_;
};

/// A daemon's, switched through its maps.
class daemons_backend final : public kernel_switch {
 public:
  explicit daemons_backend(kernel::running r) : running_(std::move(r)) {}
  ~daemons_backend() override {
    poll(true);
    std::atomic_ref(running_.settings().paused_by).store(0);
  }
  void poll(bool on) override { std::atomic_ref(running_.settings().enabled).store(on ? 1 : 0); }
  kernel::totals counted() const override { return kernel::sum(running_.cpus()); }
  core::any::params governor() const override { return running_.settings().governor; }

  static std::variant<std::shared_ptr<kernel_switch>, refusal> attach() {
    auto opened = kernel::running::open();
    if (auto* no = std::get_if<refusal>(&opened)) return *no;
    kernel::running r = std::move(std::get<kernel::running>(opened));
    std::atomic_ref pausing(r.settings().paused_by);
    core::u32 nobody = 0;
    if (!pausing.compare_exchange_strong(nobody, static_cast<core::u32>(::getpid())))
      return refusal{69, "the kernel backend is being measured by pid " + std::to_string(nobody),
                     "", "wait for it to end"};
    return std::make_shared<daemons_backend>(std::move(r));
  }

 private:
  kernel::running running_;
};

}  // namespace

std::variant<std::shared_ptr<kernel_switch>, refusal> attach_kernel(
    const core::any::params& governor) {
  return kernel::daemon_pid() ? daemons_backend::attach() : own_backend::attach(governor);
}

}  // namespace haltpoll::bench
