// tcp: 64 bytes back and forth over a TCP connection on loopback, blocking, TCP_NODELAY, as
// sockperf's ping-pong mode.
#include "../sockets.hpp"
#include "all.hpp"

namespace haltpoll::bench {

outcome run_tcp(const job& j) { return socket_ping_pong(j, tcp_pair()); }

}  // namespace haltpoll::bench
