#pragma once
// worker_process: one worker from start to end, and the guarantee that nothing of it survives.
#include <haltpoll/bench/workload.hpp>
#include <string>
#include <vector>

namespace haltpoll::bench {

struct worker_command {
  std::vector<std::string> argv;  ///< [0] is the program's path
  std::vector<std::string>
      environment;  ///< NAME=value, in place of what the caller has by that name
  u32 limit_seconds = 60;
};

/// Runs it in a process group of its own, tied to this thread's life, and reads its line. After
/// limit_seconds, and in any case once the worker has ended, the whole group is killed.
outcome run_worker(const worker_command& c);

/// $HALTPOLL_WORKER, beside this program, ../libexec/haltpoll/ of an installed one, or the build
/// tree. Empty if there is none; `looked_at` then lists the places.
std::string worker_program(std::vector<std::string>& looked_at);

}  // namespace haltpoll::bench
