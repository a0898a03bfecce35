#pragma once
// A kernel that does what the test says, in place of BPF.
#include <haltpoll/kernel/backend.hpp>
#include <map>
#include <vector>

namespace haltpoll::kernel {

/// Everything loads and attaches unless told otherwise.
struct fake_bpf : bpf_adapter {
  int load_error = 0;
  int find(hook, const char*) override { return 1; }
  int load(hook, int) override { return load_error != 0 ? -load_error : 3; }
  int load_raw_tracepoint() override { return 4; }
  int attach(int) override { return 5; }
  void close(int) override {}
};

struct fake_programs : programs {
  int load_error = 0, pin_error = 0;
  std::map<place, int> attach_error;
  std::vector<place> attached;
  bool loaded = false;
  std::string pinned;
  control c;
  std::vector<cpu_record> records = std::vector<cpu_record>(4);

  int load(hook) override {
    loaded = load_error == 0;
    return -load_error;
  }
  int attach(place p) override {
    if (attach_error.contains(p)) return -attach_error[p];
    attached.push_back(p);
    return 0;
  }
  void detach() override { attached.clear(); }
  std::string log() const override { return "R1 invalid mem access"; }
  control& settings() override { return c; }
  std::span<cpu_record> cpus() override { return records; }
  int pin(const std::string& directory) override {
    if (pin_error == 0) pinned = directory;
    return -pin_error;
  }
};

/// Each exercised CPU shows the flags of one kernel.
struct fake_cpus : exerciser {
  fake_programs& kernel;
  u64 entry_flags = 0x204000, exit_flags = 0x204008;
  u32 passes_each = calibration_passes;
  u64 elided_each = 0;  ///< wakes without interrupt per exercise and CPU
  u32 calls = 0;
  bool calibrating_seen = false;
  bool polled_meanwhile = false;
  std::string problem;

  explicit fake_cpus(fake_programs& k) : kernel(k) {}
  std::string exercise(const cpu_list& cpus, u32) override {
    ++calls;
    calibrating_seen |= kernel.c.calibrating == 1;
    polled_meanwhile |= kernel.c.enabled != 0 || kernel.c.need_resched != 0;
    for (const u32 cpu : cpus) {
      cpu_record& r = kernel.records.at(cpu);
      r.entry_flags &= entry_flags;
      r.exit_flags &= exit_flags;
      r.entries += passes_each;
      r.exits += passes_each;
      r.wakes_without_interrupt += elided_each;
    }
    return problem;
  }
};

}  // namespace haltpoll::kernel
