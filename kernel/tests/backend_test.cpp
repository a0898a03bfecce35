#include <gtest/gtest.h>

#include <cerrno>

#include "fakes.hpp"

namespace haltpoll::kernel {
namespace {

class backend_start : public ::testing::Test {
 protected:
  fake_bpf bpf;
  fake_programs programs;
  fake_cpus cpus{programs};
  start_options options;
  guarded_machine machine;

  void SetUp() override {
    options.pins = "";
    options.governor.which = core::any::kind::fixed;
    options.governor.fixed.window_ns = 50'000;
    machine.cpuidle_driver = "none";
    machine.clocksource = "tsc";
    machine.online = {0, 1};
  }
  auto start() {
    environment env;
    env.capabilities = ~0ULL;
    env.btf = true;
    return backend::start(options, {bpf, env, programs, cpus, machine, architecture::x86_64});
  }
  std::unique_ptr<backend> started() {
    auto r = start();
    if (const auto* no = std::get_if<refusal>(&r)) {
      ADD_FAILURE() << no->what << " / " << no->detail;
      return nullptr;
    }
    return std::move(std::get<std::unique_ptr<backend>>(r));
  }
  refusal refused() {
    auto r = start();
    EXPECT_TRUE(std::holds_alternative<refusal>(r)) << "it started";
    EXPECT_TRUE(programs.attached.empty()) << "left attached";
    EXPECT_EQ(programs.c.enabled, 0u);
    return std::holds_alternative<refusal>(r) ? std::get<refusal>(r) : refusal{};
  }
};

TEST_F(backend_start, polls_after_calibration_only) {
  const auto b = started();
  ASSERT_NE(b, nullptr);
  EXPECT_TRUE(cpus.calibrating_seen);
  EXPECT_FALSE(cpus.polled_meanwhile);
  EXPECT_EQ(programs.c.calibrating, 0u);
  EXPECT_EQ(programs.c.enabled, 1u);
  EXPECT_EQ(programs.c.need_resched, 0x8u);
  EXPECT_EQ(programs.c.polling_flag, 0x200000u);
  EXPECT_EQ(programs.c.governor.fixed.window_ns, 50'000u);
  EXPECT_EQ(programs.c.inner_hook, 1u);
  EXPECT_EQ(programs.attached.size(), 4u);
  EXPECT_EQ(programs.records[1].window_cap_ns, 1'000'000u);
}

TEST_F(backend_start, ends_polling_and_detaches_with_itself) {
  { const auto b = started(); }
  EXPECT_EQ(programs.c.enabled, 0u);
  EXPECT_TRUE(programs.attached.empty());
}

TEST_F(backend_start, attached_but_not_polling) {
  options.enabled = false;
  const auto b = started();
  EXPECT_EQ(programs.c.enabled, 0u);
  EXPECT_EQ(programs.c.need_resched, 0x8u);
}

TEST_F(backend_start, goes_on_until_every_cpu_was_seen) {
  cpus.passes_each = calibration_passes / 4;
  const auto b = started();
  EXPECT_EQ(cpus.calls, 4u);
}

TEST_F(backend_start, refuses_where_the_bit_cannot_be_told) {
  cpus.exit_flags = 0x20400c;
  const refusal no = refused();
  EXPECT_EQ(no.exit_code, 69);
  EXPECT_NE(no.what.find("2 bits could be NEED_RESCHED"), std::string::npos) << no.what;
}

TEST_F(backend_start, refuses_where_cpus_are_woken_without_interrupt_anyway) {
  cpus.elided_each = calibration_passes;
  const refusal no = refused();
  EXPECT_NE(no.what.find("100 % of wakes"), std::string::npos) << no.what;
  EXPECT_NE(no.hint.find("guard-mwait"), std::string::npos);
  options.guards.mwait = false;
  EXPECT_NE(started(), nullptr);
}

TEST_F(backend_start, a_few_elided_wakes_are_normal) {
  cpus.elided_each = calibration_passes / 8;
  const auto b = started();
  EXPECT_EQ(programs.c.mwait_seen, 125u);
  EXPECT_EQ(programs.records[0].wakes_without_interrupt, 0u) << "calibration is not success";
}

TEST_F(backend_start, works_without_the_inner_hook) {
  programs.attach_error[place::inner] = EINVAL;
  const auto b = started();
  EXPECT_EQ(programs.c.inner_hook, 0u);
  EXPECT_EQ(programs.attached.size(), 3u);
}

TEST_F(backend_start, refuses_without_any_other_hook) {
  for (const place p : {place::entry, place::exit, place::elided_interrupt}) {
    programs.attach_error = {{p, EBUSY}};
    const refusal no = refused();
    EXPECT_NE(no.what.find(name_of(p)), std::string::npos) << no.what;
    EXPECT_FALSE(no.detail.empty());
  }
}

TEST_F(backend_start, says_what_the_verifier_said) {
  programs.load_error = EACCES;
  EXPECT_EQ(refused().detail, "R1 invalid mem access");
}

TEST_F(backend_start, kernel_that_refuses_is_the_probes_business) {
  bpf.load_error = EPERM;
  const refusal no = refused();
  EXPECT_EQ(no.exit_code, 69);
  EXPECT_NE(no.hint.find("haltpoll run"), std::string::npos);
  EXPECT_FALSE(programs.loaded);
}

TEST_F(backend_start, guards_come_before_loading) {
  machine.cpuidle_driver = machine.cpuidle_governor = "haltpoll";
  refused();
  EXPECT_FALSE(programs.loaded);
}

TEST_F(backend_start, full_bpffs) {
  options.pins = "/nowhere/haltpoll";
  programs.pin_error = ENOSPC;
  const refusal no = refused();
  EXPECT_NE(no.what.find("/nowhere/haltpoll: No space left"), std::string::npos) << no.what;
}

TEST_F(backend_start, no_cpu_may_be_used) {
  cpus.problem = "none of the CPUs 0-1 may be used by this process";
  EXPECT_NE(refused().what.find("may be used"), std::string::npos);
}

// Real threads and a real scheduler: each CPU is left and entered again as often as asked.
TEST(pinned_threads, leave_the_callers_affinity_alone) {
  cpu_set_t before, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  cpu_list mine;
  for (u32 cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &before)) mine.push_back(cpu);
  EXPECT_EQ(pinned_threads()->exercise(mine, 3), "");
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
  EXPECT_NE(pinned_threads()->exercise({1023}, 3), "");
}

}  // namespace
}  // namespace haltpoll::kernel
