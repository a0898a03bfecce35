#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <haltpoll/kernel/host_poll.hpp>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace haltpoll::kernel {
namespace {

constexpr int not_possible = 69, not_permitted = 77;

constexpr u32 hypervisor_leaf = 0x4000'0000;
// Where a KVM that also speaks Hyper-V puts its own leaves.
constexpr u32 second_hypervisor_leaf = 0x4000'0100;
constexpr u32 feature_poll_control = 1U << 12;
constexpr u64 host_may_poll = 1;

class device final : public msr_access {
 public:
  explicit device(std::string sysroot) : sysroot_(std::move(sysroot)) {}

  int read(u32 cpu, u32 msr, u64& value) override {
    const int fd = open_msr(cpu, O_RDONLY);
    if (fd < 0) return fd;
    return close_with(fd, pread(fd, &value, sizeof value, msr));
  }

  int write(u32 cpu, u32 msr, u64 value) override {
    const int fd = open_msr(cpu, O_WRONLY);
    if (fd < 0) return fd;
    return close_with(fd, pwrite(fd, &value, sizeof value, msr));
  }

 private:
  int open_msr(u32 cpu, int mode) const {
    const std::string path = sysroot_ + "/dev/cpu/" + std::to_string(cpu) + "/msr";
    const int fd = open(path.c_str(), mode | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
  }
  static int close_with(int fd, ssize_t transferred) {
    const int error = transferred < 0 ? errno : EIO;
    close(fd);
    return transferred == sizeof(u64) ? 0 : -error;
  }
  std::string sysroot_;
};

refusal cannot(const char* verb, u32 cpu, int error) {
  refusal r{not_possible,
            "host_poll_control: cannot " + std::string(verb) + " MSR 0x4b564d05 of CPU " +
                std::to_string(cpu) + ": " + std::strerror(error),
            "", ""};
  if (error == ENOENT || error == ENXIO) {
    r.detail =
        "/dev/cpu/" + std::to_string(cpu) + "/msr is not there: the msr driver is not loaded";
    r.hint = "modprobe msr";
  } else if (error == EPERM || error == EACCES) {
    r.exit_code = not_permitted;
    r.detail =
        "it takes root with CAP_SYS_RAWIO, a kernel that is not locked down, and for writing no "
        "msr.allow_writes=off";
  }
  return r;
}

}  // namespace

std::unique_ptr<msr_access> device_msr(const std::string& sysroot) {
  return std::make_unique<device>(sysroot);
}

cpuid_reader this_cpuid() {
#if defined(__x86_64__)
  return [](u32 leaf) {
    std::array<u32, 4> r{};
    __cpuid(leaf, r[0], r[1], r[2], r[3]);
    return r;
  };
#else
  return {};
#endif
}

std::string host_poll_offered(const cpuid_reader& cpuid) {
  if (!cpuid) return "only KVM on x86 lets a guest switch the host's polling off";
  if (cpuid(1)[2] >> 31 == 0) return "this is no virtual machine: there is no host that polls";
  for (const u32 base : {hypervisor_leaf, second_hypervisor_leaf}) {
    const auto leaf = cpuid(base);
    if (std::memcmp(&leaf[1], "KVMKVMKVM\0\0\0", 12) != 0) continue;
    if ((cpuid(base + 1)[0] & feature_poll_control) != 0) return "";
    return "this host does not let its guests switch its polling off (bit 12 of CPUID leaf "
           "0x40000001 is 0)";
  }
  return "the hypervisor is not KVM";
}

std::variant<saved_host_poll, refusal> read_host_poll(msr_access& msr, const cpu_list& cpus) {
  saved_host_poll found;
  for (const u32 cpu : cpus) {
    u64 value = 0;
    if (const int error = msr.read(cpu, msr_kvm_poll_control, value); error != 0)
      return cannot("read", cpu, -error);
    found.values.emplace_back(cpu, value);
  }
  return found;
}

std::optional<refusal> switch_host_poll_off(msr_access& msr, const saved_host_poll& found) {
  saved_host_poll changed;
  for (const auto& [cpu, value] : found.values) {
    if (const int error = msr.write(cpu, msr_kvm_poll_control, value & ~host_may_poll);
        error != 0) {
      restore_host_poll(msr, changed);
      return cannot("write", cpu, -error);
    }
    changed.values.emplace_back(cpu, value);
  }
  return std::nullopt;
}

void restore_host_poll(msr_access& msr, const saved_host_poll& saved) {
  for (const auto& [cpu, value] : saved.values) msr.write(cpu, msr_kvm_poll_control, value);
}

}  // namespace haltpoll::kernel
