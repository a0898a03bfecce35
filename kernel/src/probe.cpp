#include <cerrno>
#include <cstring>
#include <fstream>
#include <haltpoll/kernel/probe.hpp>
#include <sstream>

#include "files.hpp"

namespace haltpoll::kernel {
namespace {

constexpr u64 bit(unsigned n) { return 1ULL << n; }
constexpr u64 cap_sys_admin = bit(21), cap_perfmon = bit(38), cap_bpf = bit(39);
// The kernel's own errno, not in errno.h: what attaching answers where trampolines are missing.
constexpr int enotsupp = 524;

std::string errno_name(int error) {
  if (error == enotsupp) return "ENOTSUPP";
  const char* name = strerrorname_np(error);
  return name != nullptr ? name : std::to_string(error);
}

bool refused(int error) { return error == EPERM || error == EACCES; }

/// The attempt that came furthest: its failure tells most.
const attempt& furthest(const probe_result& r) {
  return r.fentry.reached > r.fexit.reached ? r.fentry : r.fexit;
}

std::string missing_capabilities(const environment& env) {
  if ((env.capabilities & cap_sys_admin) != 0) return "";
  std::string missing;
  if ((env.capabilities & cap_bpf) == 0) missing = "CAP_BPF";
  if ((env.capabilities & cap_perfmon) == 0)
    missing += missing.empty() ? "CAP_PERFMON" : " and CAP_PERFMON";
  return missing;
}

struct rule {
  cause why;
  int exit_code;
  bool (*fits)(const probe_result&, const environment&);
  std::string (*explain)(const probe_result&, const environment&);
};

constexpr int not_possible = 69, not_permitted = 77;

const rule rules[] = {
    {cause::no_bpf, not_possible,
     [](const probe_result& r, const environment&) { return r.other_type_error == ENOSYS; },
     [](const probe_result&, const environment&) -> std::string {
       return "the kernel has no bpf() system call (CONFIG_BPF_SYSCALL)";
     }},
    {cause::capabilities, not_permitted,
     [](const probe_result& r, const environment& env) {
       return (refused(furthest(r).error) || refused(r.other_type_error)) &&
              !missing_capabilities(env).empty();
     },
     [](const probe_result&, const environment& env) {
       return missing_capabilities(env) + " missing; kernel.unprivileged_bpf_disabled is " +
              std::to_string(env.unprivileged_bpf_disabled);
     }},
    {cause::user_namespace, not_permitted,
     [](const probe_result& r, const environment& env) {
       return refused(furthest(r).error) && !env.initial_user_namespace;
     },
     [](const probe_result&, const environment&) -> std::string {
       return "the capabilities are those of a user namespace (a container), the kernel asks for "
              "the machine's own";
     }},
    {cause::lockdown, not_possible,
     [](const probe_result& r, const environment& env) {
       return refused(furthest(r).error) && env.lockdown == "confidentiality";
     },
     [](const probe_result&, const environment&) -> std::string {
       return "lockdown is \"confidentiality\", which forbids reading kernel memory from BPF";
     }},
    {cause::sysctl, not_permitted,
     [](const probe_result& r, const environment& env) {
       return refused(r.other_type_error) && env.unprivileged_bpf_disabled != 0;
     },
     [](const probe_result&, const environment& env) {
       return "no BPF program of any type loads, kernel.unprivileged_bpf_disabled is " +
              std::to_string(env.unprivileged_bpf_disabled);
     }},
    {cause::no_btf, not_possible,
     [](const probe_result& r, const environment& env) {
       return furthest(r).reached == step::find && !env.btf;
     },
     [](const probe_result&, const environment&) -> std::string {
       return "/sys/kernel/btf/vmlinux is missing (CONFIG_DEBUG_INFO_BTF)";
     }},
    {cause::no_function, not_possible,
     [](const probe_result& r, const environment&) { return furthest(r).reached == step::find; },
     [](const probe_result&, const environment&) {
       return std::string(idle_function) + " is not in the kernel's BTF: renamed or inlined";
     }},
    {cause::no_trampoline, not_possible,
     [](const probe_result& r, const environment&) { return !refused(furthest(r).error); },
     [](const probe_result&, const environment&) -> std::string {
       return "this kernel cannot trace function entry and exit with BPF (trampolines; on arm64 "
              "since about 6.4)";
     }},
    {cause::denied_by_policy, not_possible,
     [](const probe_result&, const environment&) { return true; },
     [](const probe_result& r, const environment& env) {
       std::string text;
       if (!env.lockdown.empty()) text = "lockdown is \"" + env.lockdown + "\", ";
       text += "capabilities are complete, programs of other types ";
       text += r.other_type_error == 0 ? "load" : "are refused too";
       return text + ": a security module or the hypervisor's guest policy denies it";
     }},
};

attempt try_hook(bpf_adapter& bpf, hook h) {
  const int id = bpf.find(h, idle_function);
  if (id < 0) return {step::find, -id};
  const int program = bpf.load(h, id);
  if (program < 0) return {step::load, -program};
  const int link = bpf.attach(program);
  bpf.close(program);
  if (link < 0) return {step::attach, -link};
  bpf.close(link);
  return {step::done, 0};
}

std::string describe(hook h, const attempt& a) {
  static const char* const steps[] = {"finding the function", "load", "attach", ""};
  return std::string(name_of(h)) + "/" + idle_function + ": " + errno_name(a.error) + " on " +
         steps[static_cast<int>(a.reached)];
}

/// "none [integrity] confidentiality" -> "integrity"
std::string chosen(const std::string& line) {
  const auto open = line.find('['), close = line.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return "";
  return line.substr(open + 1, close - open - 1);
}

}  // namespace

const char* name_of(hook h) { return h == hook::fexit ? "fexit" : "fentry"; }

probe_result probe(bpf_adapter& bpf, const environment& env) {
  probe_result r;
  const int other = bpf.load_raw_tracepoint();
  if (other >= 0) bpf.close(other);
  r.other_type_error = other < 0 ? -other : 0;

  r.fexit = try_hook(bpf, hook::fexit);
  if (r.fexit.reached == step::done) {
    r.usable = hook::fexit;
  } else {
    r.fentry = try_hook(bpf, hook::fentry);
    if (r.fentry.reached == step::done) r.usable = hook::fentry;
  }
  if (r.usable) {
    r.summary = std::string(name_of(*r.usable)) + "/" + idle_function + " loads and attaches";
    return r;
  }
  const hook tells_most = &furthest(r) == &r.fentry ? hook::fentry : hook::fexit;
  r.summary = "this kernel refuses BPF programs at function entry and exit (" +
              describe(tells_most, furthest(r)) + ")";
  for (const rule& rule : rules) {
    if (!rule.fits(r, env)) continue;
    r.why = rule.why;
    r.exit_code = rule.exit_code;
    r.detail = rule.explain(r, env);
    break;
  }
  return r;
}

environment read_environment(const std::string& sysroot) {
  environment env;
  std::ifstream status(sysroot + "/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("CapEff:", 0) == 0)
      std::istringstream(line.substr(7)) >> std::hex >> env.capabilities;
  u64 inside = 0, outside = 0, length = 0;
  if (std::istringstream(first_line(sysroot + "/proc/self/uid_map")) >> inside >> outside >> length)
    env.initial_user_namespace = inside == 0 && outside == 0 && length == 0xffff'ffff;
  env.lockdown = chosen(first_line(sysroot + "/sys/kernel/security/lockdown"));
  std::istringstream(first_line(sysroot + "/proc/sys/kernel/unprivileged_bpf_disabled")) >>
      env.unprivileged_bpf_disabled;
  env.btf = std::ifstream(sysroot + "/sys/kernel/btf/vmlinux").good();
  return env;
}

}  // namespace haltpoll::kernel
