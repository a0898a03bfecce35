#pragma once
// kernel: the kernel backend: BPF programs at the entry of the kernel's idle loop.
//
// The room is for what talks to the kernel's BPF subsystem and for the guards around it. It must
// not decide windows (core), print, or change anything that outlives the process: programs hang on
// file descriptors, and when those close the kernel is as it was.
//
// probe: whether this kernel lets us attach at the idle loop, found by really loading and attaching
// a program of two instructions and detaching it again, never by version; and if not, why.
#include <haltpoll/core/types.hpp>
#include <memory>
#include <optional>
#include <string>

namespace haltpoll::kernel {

using core::u64;

/// The function the backend hangs on; it has been there, not inlined, from 4.17 to 7.2.
inline constexpr const char* idle_function = "tick_nohz_idle_enter";

enum class hook { fexit, fentry };
const char* name_of(hook h);

enum class step { find, load, attach, done };

/// The way to the kernel. One real implementation, and fakes in tests: what stands above it is
/// tested without root. All return a descriptor or id of 0 or more, or -errno.
class bpf_adapter {
 public:
  virtual ~bpf_adapter() = default;
  virtual int find(hook h, const char* function) = 0;  ///< id in the kernel's BTF
  virtual int load(hook h, int btf_id) = 0;
  virtual int load_raw_tracepoint() = 0;  ///< another program type, to tell refusals apart
  virtual int attach(int program) = 0;
  virtual void close(int fd) = 0;
};

/// libbpf, with its own messages silenced: its hint about `ulimit -l` is wrong where privilege is
/// what is missing.
std::unique_ptr<bpf_adapter> libbpf_adapter();

/// What decides about BPF besides the kernel's version.
struct environment {
  u64 capabilities = 0;  ///< effective set of this process
  bool initial_user_namespace = true;
  std::string lockdown;  ///< "none", "integrity", "confidentiality"; empty: no lockdown
  int unprivileged_bpf_disabled = 0;  ///< sysctl; only matters where a capability is missing
  bool btf = false;                   ///< /sys/kernel/btf/vmlinux is there
};

/// Reads /proc and /sys below `sysroot`. What cannot be read keeps its default.
environment read_environment(const std::string& sysroot = "");

/// How far one hook came.
struct attempt {
  step reached = step::find;  ///< the step that failed, or done
  int error = 0;              ///< errno of that step
};

/// In the order in which they are considered: the first that fits is the cause.
enum class cause {
  none,
  capabilities,     ///< CAP_BPF or CAP_PERFMON (or CAP_SYS_ADMIN) is missing
  user_namespace,   ///< the capabilities are those of a container's user namespace
  lockdown,         ///< confidentiality
  sysctl,           ///< nothing loads, with kernel.unprivileged_bpf_disabled set
  no_bpf,           ///< the kernel has no bpf()
  no_btf,           ///< the kernel was built without BTF
  no_function,      ///< the idle function is not there
  no_trampoline,    ///< loads, but the architecture cannot attach it
  denied_by_policy  ///< a security module or the hypervisor's guest policy
};

struct probe_result {
  std::optional<hook> usable;  ///< the better of those that attached: fexit before fentry
  attempt fexit, fentry;       ///< fentry is only tried where fexit failed
  int other_type_error = 0;    ///< 0: a raw tracepoint program loads
  cause why = cause::none;
  std::string summary;  ///< one line: what works, or what is refused at which step with which errno
  std::string detail;  ///< one line: the true cause and what it was concluded from; empty if usable
  int exit_code = 0;   ///< of the contract: 0, 69 not possible here, 77 not permitted
};

/// Tries fexit, then fentry, and leaves nothing attached.
probe_result probe(bpf_adapter& bpf, const environment& env);

}  // namespace haltpoll::kernel
