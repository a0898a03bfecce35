#pragma once
// all: the entry points that the table in workloads.cpp names, one or more per file beside this
// one.
#include <haltpoll/bench/workload.hpp>

namespace haltpoll::bench {

outcome run_pipe(const job& j);
outcome run_ctxsw(const job& j);
outcome run_tcp(const job& j);
outcome run_udp(const job& j);
outcome run_unix(const job& j);
outcome run_epoll(const job& j);
outcome run_messaging(const job& j);
outcome run_redis(const job& j);

}  // namespace haltpoll::bench
