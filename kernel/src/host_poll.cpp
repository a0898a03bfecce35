#include <fcntl.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cerrno>
#include <cstring>
#include <haltpoll/kernel/host_poll.hpp>

namespace haltpoll::kernel {
namespace {

class device final : public msr_access {
 public:
  int read(u32 cpu, u32 msr, u64& value) override {
    return on(cpu, O_RDONLY, [&](int fd) { return ::pread(fd, &value, sizeof value, msr); });
  }
  int write(u32 cpu, u32 msr, u64 value) override {
    return on(cpu, O_WRONLY, [&](int fd) { return ::pwrite(fd, &value, sizeof value, msr); });
  }

 private:
  template <class F>
  static int on(u32 cpu, int mode, F access) {
    const std::string path = "/dev/cpu/" + std::to_string(cpu) + "/msr";
    const int fd = ::open(path.c_str(), mode | O_CLOEXEC);
    if (fd < 0) return -errno;
    const ssize_t n = access(fd);
    const int error = errno;
    ::close(fd);
    if (n == sizeof(u64)) return 0;
    return n < 0 ? -error : -EIO;
  }
};

refusal explain(u32 cpu, int code) {
  refusal no{69, "host_poll_control: CPU " + std::to_string(cpu) + ": " + std::strerror(-code), "",
             ""};
  if (code == -ENOENT || code == -ENXIO) no.hint = "the msr driver is missing: modprobe msr";
  if (code == -EPERM || code == -EACCES) {
    no.exit_code = 77;
    no.detail = "writing an MSR takes CAP_SYS_RAWIO, and no lockdown";
  }
  if (code == -EIO) no.detail = "the hypervisor does not let the guest write MSR_KVM_POLL_CONTROL";
  return no;
}

}  // namespace

std::unique_ptr<msr_access> device_msr() { return std::make_unique<device>(); }

std::string host_poll_offered() {
#if defined(__x86_64__)
  constexpr unsigned kvm_leaf = 0x40000000, poll_control_bit = 1U << 12, hypervisor_bit = 1U << 31;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & hypervisor_bit) == 0)
    return "this is not a virtual machine";
  __cpuid(kvm_leaf, eax, ebx, ecx, edx);
  if (ebx != 0x4b4d564b || ecx != 0x564b4d56 || edx != 0x4d)
    return "the hypervisor is not KVM";  // "KVMKVMKVM"
  if (eax < kvm_leaf + 1) return "the hypervisor is a KVM without features";
  __cpuid(kvm_leaf + 1, eax, ebx, ecx, edx);
  return (eax & poll_control_bit) != 0
             ? ""
             : "the KVM host does not offer it (CPUID 0x40000001, bit 12)";
#else
  return "only KVM on x86 has it";
#endif
}

std::variant<saved_host_poll, refusal> switch_host_poll_off(msr_access& msr, const cpu_list& cpus) {
  saved_host_poll saved;
  for (const u32 cpu : cpus) {
    u64 value = 0;
    int code = msr.read(cpu, msr_kvm_poll_control, value);
    if (code == 0) code = msr.write(cpu, msr_kvm_poll_control, value & ~1ULL);
    if (code != 0) {
      restore_host_poll(msr, saved);
      return explain(cpu, code);
    }
    saved.values.emplace_back(cpu, value);
  }
  return saved;
}

void restore_host_poll(msr_access& msr, const saved_host_poll& saved) {
  for (const auto& [cpu, value] : saved.values) msr.write(cpu, msr_kvm_poll_control, value);
}

}  // namespace haltpoll::kernel
