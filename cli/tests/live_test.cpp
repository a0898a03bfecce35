// get, set and status over the two structs that a backend shares, without a kernel.
#include "live.hpp"

#include <gtest/gtest.h>

#include <haltpoll/core/spec.hpp>
#include <nlohmann/json.hpp>

#include "status.hpp"

namespace haltpoll::cli {
namespace {

class live : public ::testing::Test {
 protected:
  kernel::control c;
  std::vector<kernel::cpu_record> cpus = std::vector<kernel::cpu_record>(4);
  const kernel::cpu_list online = {0, 1, 2, 3};

  void SetUp() override {
    start_settings s;
    s.options.start.governor.which = core::any::kind::haltpoll;
    s.governor_origin = "/etc/haltpoll/haltpoll.toml:3: governor";
    for (const kernel_setting& k : kernel_settings()) s.origins[k.name] = "default";
    s.origins["guard_mwait"] = "--guard-mwait";
    s.options.start.guards.mwait = false;
    c.governor = s.options.start.governor;
    c.steal_percent = s.options.start.guards.steal_percent;
    remember_start(c, s);
  }
  void set(const std::vector<std::string>& assignments) { set_live(c, cpus, assignments, online); }
  std::string refusal(const std::vector<std::string>& assignments) {
    try {
      set(assignments);
    } catch (const failure& f) {
      EXPECT_EQ(f.code, exit_code::usage);
      return f.what();
    }
    ADD_FAILURE() << "taken";
    return "";
  }
  live_value get(const std::string& key) {
    for (const live_value& v : live_values(c, cpus))
      if (v.key == key) return v;
    return {};
  }
};

TEST_F(live, origins_of_the_start_are_told) {
  EXPECT_EQ(get("governor").value, "haltpoll");
  EXPECT_EQ(get("governor").origin, "/etc/haltpoll/haltpoll.toml:3: governor");
  EXPECT_EQ(get("guest_halt_poll_ns").value, "200000");
  EXPECT_EQ(get("guest_halt_poll_ns").origin, "/etc/haltpoll/haltpoll.toml:3: governor");
  EXPECT_EQ(get("guard_mwait").value, "false");
  EXPECT_EQ(get("guard_mwait").origin, "--guard-mwait");
  EXPECT_EQ(get("guard_clock").value, "true");
  EXPECT_EQ(get("guard_steal").value, "5");
  EXPECT_EQ(get("cpus").value, "all");
  EXPECT_EQ(get("window_ns").key, "") << "a key of another governor";
}

TEST_F(live, a_key_of_the_governor_in_force) {
  set({"guest_halt_poll_ns=100000", "max_pollers=1"});
  EXPECT_EQ(c.governor.haltpoll.guest_halt_poll_ns, 100'000u);
  EXPECT_EQ(c.max_pollers, 1u);
  EXPECT_EQ(get("guest_halt_poll_ns").origin, "set");
  EXPECT_EQ(get("guest_halt_poll_grow").origin, "/etc/haltpoll/haltpoll.toml:3: governor");
}

TEST_F(live, another_governor_brings_its_own_keys) {
  set({"guest_halt_poll_ns=100000"});
  set({"governor=fixed", "window_ns=7000"});
  EXPECT_EQ(c.governor.which, core::any::kind::fixed);
  EXPECT_EQ(c.governor.fixed.window_ns, 7'000u);
  EXPECT_EQ(get("governor").origin, "set");
  set({"governor=haltpoll"});
  EXPECT_EQ(get("guest_halt_poll_ns").value, "200000");
}

TEST_F(live, all_or_nothing) {
  for (const std::vector<std::string>& bad : std::vector<std::vector<std::string>>{
           {"max_pollers=2", "guest_halt_poll_ns=1000001"},
           {"max_pollers=2", "guest_halt_poll_ns=10000"},  // below grow_start
           {"max_pollers=2", "nonsense=1"},
           {"max_pollers=2", "max_pollers=3"},
           {"max_pollers=2", "cpus=4"},
           {"max_pollers=2", "guard_clock=false"},
           {"max_pollers=2", "governor=unknown"},
           {"max_pollers=2", "window_ns=3"},
           {"max_pollers=2", "max_polled_percent=101"},
           {"max_pollers=2", "word"},
           {"max_pollers=2", "=3"}})
    refusal(bad);
  EXPECT_EQ(c.max_pollers, 0u);
  EXPECT_EQ(c.governor.haltpoll.guest_halt_poll_ns, 200'000u);
  EXPECT_EQ(get("max_pollers").origin, "default");
}

TEST_F(live, refusals_name_value_and_limit) {
  EXPECT_EQ(refusal({"guest_halt_poll_ns=1000001"}),
            "set guest_halt_poll_ns: 1000001 is above the limit 1000000");
  EXPECT_EQ(refusal({"guest_halt_poll_ns=10000"}),
            "set: guest_halt_poll_grow_start 50000 is above guest_halt_poll_ns 10000");
  EXPECT_EQ(refusal({"guest_halt_poll_ns=-1"}),
            "set guest_halt_poll_ns: \"-1\" is not a whole number from 0 to 1000000");
  EXPECT_EQ(refusal({"cpus=0-4"}), "set cpus: CPU 4 is not online; there are 0-3");
  EXPECT_EQ(refusal({"guard_clock=false"}), "set: guard_clock can be given at the start only");
  EXPECT_EQ(refusal({"window_ns=3"}), "set: unknown key \"window_ns\" with governor haltpoll");
}

TEST_F(live, cpus_leave_other_guards_alone) {
  cpus[1].guards = kernel::guard::steal;
  set({"cpus=1-2"});
  EXPECT_EQ(cpus[0].guards, kernel::guard::cpu_list);
  EXPECT_EQ(cpus[1].guards, kernel::guard::steal);
  EXPECT_EQ(cpus[2].guards, 0u);
  EXPECT_EQ(cpus[3].guards, kernel::guard::cpu_list);
  EXPECT_EQ(get("cpus").value, "1-2");
  set({"cpus=0-3"});
  EXPECT_EQ(cpus[0].guards, 0u);
  EXPECT_EQ(get("cpus").value, "all");
}

TEST_F(live, an_origin_that_is_too_long_is_cut_and_ends) {
  start_settings s;
  s.governor_origin = std::string(200, 'x');
  for (const kernel_setting& k : kernel_settings()) s.origins[k.name] = "default";
  remember_start(c, s);
  EXPECT_EQ(get("governor").origin, std::string(kernel::origin_size - 1, 'x'));
}

TEST_F(live, status_tells_what_each_cpu_did) {
  c.daemon_pid = 42;
  c.enabled = 1;
  c.need_resched = 8;
  c.polling_flag = 0x200000;
  c.started_ns = 1'000'000'000;
  cpus[0].polls = 110, cpus[0].hits = 100, cpus[0].misses = 10, cpus[0].polled_ns = 500'000'000;
  cpus[0].idle.count[12] = 7;
  cpus[1].guards = kernel::guard::cpu_list;
  const auto j = nlohmann::json::parse(status_json(c, cpus, {0, 1}, 3'000'000'000));
  EXPECT_EQ(j["schema"], "haltpoll.status/1");
  EXPECT_EQ(j["uptime_ns"], 2'000'000'000u);
  EXPECT_EQ(j["cpus"].size(), 2u);
  EXPECT_EQ(j["cpus"][0]["halts_avoided"], 100);
  EXPECT_EQ(j["cpus"][0]["polled_share"], 0.25);
  EXPECT_EQ(j["cpus"][0]["idle_log2"][12], 7);
  EXPECT_EQ(j["cpus"][1]["guards"][0], "cpus: not in the list, does not poll");
  const std::string text = status_text(c, cpus, {0, 1}, 3'000'000'000);
  EXPECT_NE(text.find("pid 42, for 2 s"), std::string::npos) << text;
  EXPECT_NE(text.find("25.00 %"), std::string::npos) << text;
  EXPECT_NE(text.find("CPU 1: cpus: not in the list, does not poll"), std::string::npos) << text;
}

}  // namespace
}  // namespace haltpoll::cli
