// The mapping from what the kernel answered to the cause the user is told, without a kernel.
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <haltpoll/kernel/probe.hpp>
#include <set>

namespace haltpoll::kernel {
namespace {

constexpr u64 all_capabilities = 0x1ff'ffff'ffff;

/// Answers as told, and keeps count of descriptors.
class fake final : public bpf_adapter {
 public:
  int find_error = 0, fexit_load_error = 0, fentry_load_error = 0, attach_error = 0, raw_error = 0;
  std::set<int> open;
  int attached = 0;

  int find(hook, const char*) override { return find_error != 0 ? -find_error : 4711; }
  int load(hook h, int id) override {
    EXPECT_EQ(id, 4711);
    return descriptor(h == hook::fexit ? fexit_load_error : fentry_load_error);
  }
  int load_raw_tracepoint() override { return descriptor(raw_error); }
  int attach(int program) override {
    EXPECT_TRUE(open.contains(program));
    if (attach_error == 0) ++attached;
    return descriptor(attach_error);
  }
  void close(int fd) override { EXPECT_EQ(open.erase(fd), 1U); }

 private:
  int next_ = 3;
  int descriptor(int error) {
    if (error != 0) return -error;
    open.insert(next_);
    return next_++;
  }
};

environment privileged() {
  environment env;
  env.capabilities = all_capabilities;
  env.btf = true;
  return env;
}

TEST(probe, fexit_is_preferred_and_nothing_stays) {
  fake bpf;
  const probe_result r = probe(bpf, privileged());
  EXPECT_EQ(r.usable, hook::fexit);
  EXPECT_EQ(r.why, cause::none);
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_EQ(bpf.attached, 1);
  EXPECT_TRUE(bpf.open.empty());
}

TEST(probe, fentry_where_fexit_does_not_load) {
  fake bpf;
  bpf.fexit_load_error = EINVAL;
  const probe_result r = probe(bpf, privileged());
  EXPECT_EQ(r.usable, hook::fentry);
  EXPECT_EQ(r.fexit.error, EINVAL);
  EXPECT_TRUE(bpf.open.empty());
}

struct refusal {
  const char* name;
  void (*arrange)(fake&, environment&);
  cause why;
  int exit_code;
  const char* said;
};

void refuse_tracing(fake& f) { f.fexit_load_error = f.fentry_load_error = EPERM; }

const refusal refusals[] = {
    {"capabilities",
     [](fake& f, environment& e) {
       refuse_tracing(f);
       f.raw_error = EPERM;
       e.capabilities = 1ULL << 39;  // CAP_BPF alone
       e.lockdown = "confidentiality";
       e.unprivileged_bpf_disabled = 2;
     },
     cause::capabilities, 77, "CAP_PERFMON missing; kernel.unprivileged_bpf_disabled is 2"},
    {"user_namespace",
     [](fake& f, environment& e) {
       refuse_tracing(f);
       e.initial_user_namespace = false;
     },
     cause::user_namespace, 77, "user namespace"},
    {"lockdown",
     [](fake& f, environment& e) {
       refuse_tracing(f);
       e.lockdown = "confidentiality";
       e.unprivileged_bpf_disabled = 1;
     },
     cause::lockdown, 69, "lockdown is \"confidentiality\""},
    {"sysctl",
     [](fake& f, environment& e) {
       refuse_tracing(f);
       f.raw_error = EPERM;
       e.unprivileged_bpf_disabled = 1;
     },
     cause::sysctl, 77, "unprivileged_bpf_disabled is 1"},
    {"no_bpf", [](fake& f, environment&) { f.find_error = f.raw_error = ENOSYS; }, cause::no_bpf,
     69, "CONFIG_BPF_SYSCALL"},
    {"no_btf",
     [](fake& f, environment& e) {
       f.find_error = ESRCH;
       e.btf = false;
     },
     cause::no_btf, 69, "/sys/kernel/btf/vmlinux"},
    {"no_function", [](fake& f, environment&) { f.find_error = ENOENT; }, cause::no_function, 69,
     "tick_nohz_idle_enter"},
    {"no_trampoline", [](fake& f, environment&) { f.attach_error = 524; }, cause::no_trampoline, 69,
     "trampolines"},
    {"policy_integrity",
     [](fake& f, environment& e) {
       refuse_tracing(f);
       e.lockdown = "integrity";
     },
     cause::denied_by_policy, 69,
     "lockdown is \"integrity\", capabilities are complete, programs of other types load: a "
     "security module or the hypervisor's guest policy denies it"},
    {"policy_on_attach", [](fake& f, environment&) { f.attach_error = EACCES; },
     cause::denied_by_policy, 69, "capabilities are complete"},
};

class refused_for : public testing::TestWithParam<refusal> {};

TEST_P(refused_for, names_the_true_cause) {
  fake bpf;
  environment env = privileged();
  GetParam().arrange(bpf, env);
  const probe_result r = probe(bpf, env);
  EXPECT_FALSE(r.usable);
  EXPECT_EQ(r.why, GetParam().why) << r.detail;
  EXPECT_EQ(r.exit_code, GetParam().exit_code);
  EXPECT_NE(r.detail.find(GetParam().said), std::string::npos) << r.detail;
  EXPECT_EQ((r.summary + r.detail).find("ulimit"), std::string::npos);
  EXPECT_TRUE(bpf.open.empty());
}

INSTANTIATE_TEST_SUITE_P(table, refused_for, testing::ValuesIn(refusals),
                         [](const auto& i) { return std::string(i.param.name); });

TEST(probe, summary_names_step_and_errno) {
  fake bpf;
  refuse_tracing(bpf);
  EXPECT_EQ(probe(bpf, privileged()).summary,
            "this kernel refuses BPF programs at function entry and exit "
            "(fexit/tick_nohz_idle_enter: EPERM on load)");
  bpf.fexit_load_error = EPERM;
  bpf.fentry_load_error = 0;
  bpf.attach_error = 524;
  EXPECT_NE(
      probe(bpf, privileged()).summary.find("fentry/tick_nohz_idle_enter: ENOTSUPP on attach"),
      std::string::npos);
}

TEST(probe, environment_is_read_below_a_root) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(testing::TempDir()) / "haltpoll_probe_environment";
  const auto put = [&root](const char* path, const char* text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  };
  put("proc/self/status", "Name:\tx\nCapEff:\t000000c000000000\n");
  put("proc/self/uid_map", "         0     100000      65536\n");
  put("sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
  put("proc/sys/kernel/unprivileged_bpf_disabled", "2\n");
  const environment env = read_environment(root);
  fs::remove_all(root);
  EXPECT_EQ(env.capabilities, 0xc0'0000'0000ULL);
  EXPECT_FALSE(env.initial_user_namespace);
  EXPECT_EQ(env.lockdown, "integrity");
  EXPECT_EQ(env.unprivileged_bpf_disabled, 2);
  EXPECT_FALSE(env.btf);
}

TEST(probe, this_machine_gets_an_answer_with_a_reason) {
  const auto bpf = libbpf_adapter();
  const probe_result r = probe(*bpf, read_environment());
  EXPECT_FALSE(r.summary.empty());
  if (r.usable) {
    EXPECT_EQ(r.exit_code, 0);
  } else {
    EXPECT_FALSE(r.detail.empty());
    EXPECT_TRUE(r.exit_code == 69 || r.exit_code == 77) << r.exit_code;
  }
}

}  // namespace
}  // namespace haltpoll::kernel
