// The table of workloads; one line each, in the order of the documentation.
#include "workloads/all.hpp"

namespace haltpoll::bench {
namespace {

// clang-format off
constexpr workload table[] = {
    // name, placement, description, own arms, first_ops, higher_is_better, run
    {"pipe", "cross-cpu", "two processes, one byte through two pipes (perf bench sched pipe)", {}, 1000, false, run_pipe},
    {"pipe-same-cpu", "same-cpu", "the same on one CPU: polling must stand back", {}, 1000, false, run_pipe},
};
// clang-format on

}  // namespace

std::span<const workload> workloads() { return table; }

}  // namespace haltpoll::bench
