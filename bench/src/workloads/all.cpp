#include "all.hpp"

namespace haltpoll::bench {
namespace {

struct entry {
  std::string_view workload;
  outcome (*run)(const job&);
};
constexpr entry entries[] = {
    {"pipe", run_pipe},
    {"pipe-same-cpu", run_pipe},
    {"ctxsw", run_ctxsw},
    {"tcp", run_tcp},
    {"udp", run_udp},
    {"unix", run_unix},
    {"epoll", run_epoll},
    {"event", run_event},
    {"messaging", run_messaging},
    {"redis", run_redis},
    {"wake", run_wake},
    {"throughput", run_throughput},
    {"idle", run_idle},
    {"decide", run_decide},
};

}  // namespace

outcome measure(std::string_view workload, const job& j) {
  for (const entry& e : entries)
    if (e.workload == workload) return e.run(j);
  return "unknown workload \"" + std::string(workload) + "\"";
}

}  // namespace haltpoll::bench
