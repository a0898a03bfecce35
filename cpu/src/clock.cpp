#include <string.h>
#include <time.h>

#include <atomic>
#include <haltpoll/cpu/clock.hpp>

#include "counter.hpp"
#include "counter_trust.hpp"
#include "interpolated_clock.hpp"

namespace haltpoll::cpu {
namespace {

struct this_machine {
  static u64 counter() { return read_counter(); }
  static u64 monotonic_ns() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<u64>(t.tv_sec) * 1'000'000'000 + static_cast<u64>(t.tv_nsec);
  }
};

// Two threads may both find it undecided; they decide the same.
enum class source : u32 { undecided, vdso, counter };
std::atomic<source> chosen{source::undecided};
std::atomic<const char*> objection_to_counter{nullptr};
std::atomic<u64> ticks_per_span{0};

// initial-exec: the general model may call malloc at a thread's first reading, which could be in a
// signal handler.
#define THREAD_LOCAL [[gnu::tls_model("initial-exec")]] constinit thread_local
THREAD_LOCAL interpolated_clock this_thread;

// Deciding costs 50 us the first time (open, read and close in /sys, a prctl and a trapping CPUID)
// and then saves 18 ns per reading: it pays after about 3000 readings. A thread that takes fewer,
// as in most short-lived processes, never asks.
constexpr u32 readings_before_deciding = 3'000;
THREAD_LOCAL std::atomic<u32> early_readings{0};
#undef THREAD_LOCAL

[[gnu::noinline, gnu::cold]] source decide() {
  const char* why = objection(gather_counter_facts(clocksource_file));
  objection_to_counter.store(why, std::memory_order_relaxed);
  source expected = source::undecided;
  const source found = why ? source::vdso : source::counter;
  return chosen.compare_exchange_strong(expected, found) ? found : expected;
}

[[gnu::noinline, gnu::cold]] source early_source() {
  const u32 readings = early_readings.load(std::memory_order_relaxed);
  if (readings >= readings_before_deciding) return decide();
  early_readings.store(readings + 1, std::memory_order_relaxed);
  return source::vdso;
}

source decided_source() {
  const source s = chosen.load();
  return s == source::undecided ? decide() : s;
}

}  // namespace

u64 now_ns() {
  source from = chosen.load(std::memory_order_relaxed);
  if (from == source::undecided) from = early_source();
  if (from == source::counter) return this_thread.now(this_machine{}, ticks_per_span);
  return this_thread.now_without_counter(this_machine{});
}

const char* clock_source() { return decided_source() == source::counter ? counter_name : "vdso"; }

const char* clock_objection() {
  decided_source();
  return objection_to_counter.load(std::memory_order_relaxed);
}

bool force_clock(const char* name) {
  if (!name) {
    chosen.store(source::undecided);
    return true;
  }
  if (strcmp(name, "vdso") == 0) {  // asks nothing of the machine, see clock.hpp
    chosen.store(source::vdso);
    return true;
  }
  const char* why = objection(gather_counter_facts(clocksource_file));
  objection_to_counter.store(why, std::memory_order_relaxed);
  if (strcmp(name, counter_name) != 0 || why != nullptr) return false;
  chosen.store(source::counter);
  return true;
}

u64 counter_ticks_per_ms() {
  const bool used = chosen.load(std::memory_order_relaxed) == source::counter;
  return used ? ticks_per_span.load(std::memory_order_relaxed) : 0;
}

static_assert(span_ns == 1'000'000, "counter_ticks_per_ms() promises a millisecond");

}  // namespace haltpoll::cpu
