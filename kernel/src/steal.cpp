#include <atomic>
#include <haltpoll/core/spec.hpp>
#include <haltpoll/kernel/guards.hpp>
#include <sstream>

namespace haltpoll::kernel {
namespace {

// Below this a poll is shorter than the two clock readings around it are worth.
constexpr u64 shortest_window_ns = 1'000;
constexpr u32 calm_ticks_before_growth = 10;

/// "cpu3" -> 3; nothing for the line of all CPUs and for others.
std::optional<u32> cpu_of(const std::string& word) {
  if (!word.starts_with("cpu") || word.size() < 4 || word.size() > 8) return std::nullopt;
  u32 n = 0;
  for (const char c : word.substr(3)) {
    if (c < '0' || c > '9') return std::nullopt;
    n = n * 10 + static_cast<u32>(c - '0');
  }
  return n;
}

void lower(cpu_record& r) {
  const u64 half = r.window_cap_ns / 2;
  std::atomic_ref(r.window_cap_ns)
      .store(half < shortest_window_ns ? 0 : half, std::memory_order_relaxed);
  std::atomic_ref(r.guards).fetch_or(guard::steal, std::memory_order_relaxed);
}

void lift(cpu_record& r) {
  std::atomic_ref(r.window_cap_ns).store(core::spec::hard_cap_ns, std::memory_order_relaxed);
  std::atomic_ref(r.guards).fetch_and(~guard::steal, std::memory_order_relaxed);
}

void raise(cpu_record& r) {
  const u64 cap = r.window_cap_ns < shortest_window_ns ? shortest_window_ns : r.window_cap_ns * 2;
  if (cap >= core::spec::hard_cap_ns) return lift(r);
  std::atomic_ref(r.window_cap_ns).store(cap, std::memory_order_relaxed);
}

}  // namespace

void steal_guard::tick(const std::string& proc_stat, std::span<cpu_record> records,
                       u32 limit_percent) {
  last_.resize(records.size());
  std::istringstream lines(proc_stat);
  std::vector<bool> online(records.size());
  // CPUs come first: "cpu" is their sum, then "cpu0"...
  for (std::string line; std::getline(lines, line) && line.starts_with("cpu");) {
    std::istringstream in(line);
    std::string name;
    in >> name;
    const auto cpu = cpu_of(name);
    if (!cpu || *cpu >= records.size()) continue;
    // user nice system idle iowait irq softirq steal; guest time is part of user time.
    constexpr int fields = 8, steal_field = 7;
    cpu_time now;
    u64 value = 0;
    int n = 0;
    for (; n < fields && in >> value; ++n) {
      now.total += value;
      if (n == steal_field) now.steal = value;
    }
    if (n < fields) continue;
    cpu_time& last = last_[*cpu];
    cpu_record& r = records[*cpu];
    now.calm_ticks = last.calm_ticks;
    online[*cpu] = true;
    // The first reading: nothing to compare with. Counters may go backwards when the machine is migrated.
    const bool comparable = last.total != 0 && now.total > last.total && now.steal >= last.steal;
    const u64 total = now.total - last.total, steal = now.steal - last.steal;
    last = now;
    if (comparable)
      std::atomic_ref(r.steal_permille)
          .store(static_cast<u32>(steal * 1000 / total), std::memory_order_relaxed);
    if (limit_percent == 0) {
      if ((r.guards & guard::steal) != 0) lift(r);
      continue;
    }
    if (!comparable) continue;
    if (steal * 100 > total * limit_percent) {
      last.calm_ticks = 0;
      lower(r);
    } else if (steal * 200 > total * limit_percent) {
      last.calm_ticks = 0;
    } else if (last.calm_ticks < calm_ticks_before_growth) {
      ++last.calm_ticks;
    } else if ((r.guards & guard::steal) != 0) {
      raise(r);
    }
  }
  // What is remembered of a CPU that is offline says nothing about the time after it comes back.
  for (std::size_t cpu = 0; cpu < online.size(); ++cpu)
    if (!online[cpu]) last_[cpu] = {};
}

}  // namespace haltpoll::kernel
