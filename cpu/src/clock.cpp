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
[[gnu::tls_model("initial-exec")]] constinit thread_local interpolated_clock this_thread;

[[gnu::noinline, gnu::cold]] source decide() {
  const char* why = objection(gather_counter_facts(clocksource_file));
  objection_to_counter.store(why, std::memory_order_relaxed);
  source expected = source::undecided;
  const source found = why ? source::vdso : source::counter;
  return chosen.compare_exchange_strong(expected, found) ? found : expected;
}

source current_source() {
  const source s = chosen.load(std::memory_order_relaxed);
  return s == source::undecided ? decide() : s;
}

}  // namespace

u64 now_ns() {
  if (current_source() == source::counter) return this_thread.now(this_machine{}, ticks_per_span);
  return this_thread.now_without_counter(this_machine{});
}

const char* clock_source() { return current_source() == source::counter ? counter_name : "vdso"; }

const char* clock_objection() {
  current_source();
  return objection_to_counter.load(std::memory_order_relaxed);
}

bool force_clock(const char* name) {
  if (!name) {
    chosen.store(source::undecided);
    return true;
  }
  if (strcmp(name, "vdso") == 0) {
    chosen.store(source::vdso);
    return true;
  }
  if (strcmp(name, counter_name) != 0 || objection(gather_counter_facts(clocksource_file)))
    return false;
  chosen.store(source::counter);
  return true;
}

u64 counter_ticks_per_ms() {
  return current_source() == source::counter ? ticks_per_span.load(std::memory_order_relaxed) : 0;
}

static_assert(span_ns == 1'000'000, "counter_ticks_per_ms() promises a millisecond");

}  // namespace haltpoll::cpu
