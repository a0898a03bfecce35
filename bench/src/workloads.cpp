// The table of workloads; one line each, in the order of the documentation. What each one does is
// only in the worker (workloads/all.cpp), so that the command does not load the libraries that
// `event` compares.
#include "workloads/all.hpp"

namespace haltpoll::bench {
namespace {

// clang-format off
constexpr workload table[] = {
    // name, placement, description, own arms, first_ops, higher_is_better, blocks, by_default
    {"pipe", "cross-cpu", "two processes, one byte through two pipes (perf bench sched pipe)", {}, 1000, false},
    {"pipe-same-cpu", "same-cpu", "the same on one CPU: polling must stand back", {}, 1000, false},
    {"ctxsw", "cross-cpu", "two processes, a futex word handed over (contextswitch)", {}, 1000, false, true, false},
    {"tcp", "cross-cpu", "64 bytes over TCP on loopback, blocking (sockperf ping-pong)", {}, 1000, false},
    {"udp", "cross-cpu", "64 bytes over UDP on loopback, blocking", {}, 1000, false},
    {"unix", "cross-cpu", "64 bytes over a stream socket pair, blocking", {}, 1000, false},
    {"epoll", "cross-cpu", "tcp with an event loop as the server (epoll_wait, non-blocking recv)", {}, 1000, false},
    {"event", "cross-cpu", "two threads hand over turns of 5 to 15 us by flag; the turns are not counted", event_arms, 500, false},
    {"messaging", "all-cpus", "2 groups of 20 senders and 20 receivers (perf bench sched messaging)", {}, 16'000, true},
    {"redis", "cross-cpu", "redis-server and redis-benchmark -c 1 -t get", {}, 2000, true},
    {"wake", "cross-cpu", "penalty curve: one-way wake latency by idle time, 2 us to 10 ms", wake_arms, 0, false},
    {"throughput", "cross-cpu", "index of computing, system calls, processes, pipes (UnixBench): must not change", {}, 0, true, false},
    {"idle", "all-cpus", "CPU time per second of four threads with nothing to do", {}, 0, false, false, false},
    {"decide", "same-cpu", "one decision of a governor on random idle durations", decide_arms, 400'000, false},
};
// clang-format on

}  // namespace

std::span<const workload> workloads() { return table; }

}  // namespace haltpoll::bench
