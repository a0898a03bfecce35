// decide: what choosing a window costs, ns per select + reflect, for every governor.
//
// A governor fed one constant answers from a trained branch predictor and, inlined, from folded
// constants. So the idle durations are random (log-uniform, 1 us to 8 ms, as long tails of real
// traces are), the state is carried from one decision to the next, every outcome follows from the
// window just chosen, and the governor is called as the backends call it, by a kind known only at
// run time.
#include <sys/resource.h>

#include <haltpoll/core/spec.hpp>
#include <haltpoll/cpu/clock.hpp>
#include <vector>

#include "../load.hpp"
#include "../statistics.hpp"
#include "all.hpp"

namespace haltpoll::bench {
namespace {

/// 32 KiB: the durations stay in the first-level cache, as one CPU's state would not; what is
/// measured is the decision.
constexpr u64 batch = 4096;

std::vector<u64> idle_durations() {
  std::vector<u64> durations(batch);
  u64 x = 0x9e37'79b9'7f4a'7c15;  // xorshift64: any seed but 0
  for (u64& d : durations) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    const u64 octave = u64{1} << (10 + x % 13);  // 1 us, 2 us, ... 4 ms
    d = octave + ((x >> 8) & (octave - 1));
  }
  return durations;
}

/// One idle period of length `d` under window `w`, as a period caller reflects it.
core::outcome outcome_of(u64 d, const core::decision& chosen) {
  const u64 w = chosen.window_ns;
  if (d <= w) return {core::poll_state, false, false, d, 0};
  return {core::halt_state, w != 0, false, w, d - w};
}

/// Makes the compiler believe that everything in `value` is read and written here.
template <class T>
void opaque(T& value) {
  asm volatile("" : "+m"(value) : : "memory");
}

void decide_batch(const core::any::params& params, core::any::state& state,
                  const std::vector<u64>& durations) {
  core::request request;
  opaque(request);
  for (const u64 d : durations) {
    core::decision chosen = core::any::select(params, state, request);
    opaque(chosen);
    core::any::reflect(params, state, outcome_of(d, chosen));
    opaque(state);
  }
}

}  // namespace

outcome run_decide(const job& j) {
  const core::spec::result parsed = core::spec::parse(j.variant.c_str());
  if (parsed.code != core::spec::error::none) return "unknown governor \"" + j.variant + "\"";
  if (!pin(j.cpu_a)) return failure("CPU " + std::to_string(j.cpu_a));
  core::any::params params = parsed.params;
  opaque(params);
  core::any::state state;
  const std::vector<u64> durations = idle_durations();

  const u64 batches = (j.ops + batch - 1) / batch;
  if (batches == 0) return "needs at least one operation";
  std::vector<u64> stamps(batches + 1);
  decide_batch(params, state, durations);  // warm: code, durations and branch history
  const usage before = usage_of(RUSAGE_SELF);
  stamps[0] = cpu::now_ns();
  for (u64 i = 1; i <= batches; ++i) {
    decide_batch(params, state, durations);
    stamps[i] = cpu::now_ns();
  }
  const usage used = usage_of(RUSAGE_SELF) - before;

  sample s = from_stamps(stamps);  // of batches
  // Whole nanoseconds are coarse for a figure below ten of them: the rate keeps the rest.
  s.parts = {{"decisions", 1e9 * batch / static_cast<double>(s.p50_ns)}};
  s.ops = batches * batch;
  for (u64* per_batch : {&s.p50_ns, &s.p99_ns, &s.mean_ns})
    *per_batch = (*per_batch + batch / 2) / batch;
  s.cpu_ns = used.cpu_ns;
  s.halts = used.halts;
  return s;
}

}  // namespace haltpoll::bench
