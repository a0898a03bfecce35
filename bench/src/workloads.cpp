// The table of workloads; one line each, in the order of the documentation.
#include "workloads/all.hpp"

namespace haltpoll::bench {
namespace {

// clang-format off
constexpr workload table[] = {
    // name, placement, description, own arms, first_ops, higher_is_better, run
    {"pipe", "cross-cpu", "two processes, one byte through two pipes (perf bench sched pipe)", {}, 1000, false, run_pipe},
    {"pipe-same-cpu", "same-cpu", "the same on one CPU: polling must stand back", {}, 1000, false, run_pipe},
    {"event", "cross-cpu", "two threads hand over 5 us turns by flag; the turns are not counted", event_arms, 2000, false, run_event},
    {"wake", "cross-cpu", "penalty curve: one-way wake latency by idle time, 2 us to 10 ms", wake_arms, 0, false, run_wake},
    {"throughput", "cross-cpu", "index of computing, system calls, processes, pipes (UnixBench): must not change", {}, 0, true, run_throughput, false},
    {"idle", "all-cpus", "CPU time per second of four threads with nothing to do", {}, 0, false, run_idle, false},
    {"decide", "same-cpu", "one decision of a governor on random idle durations", decide_arms, 400'000, false, run_decide},
};
// clang-format on

}  // namespace

std::span<const workload> workloads() { return table; }

}  // namespace haltpoll::bench
