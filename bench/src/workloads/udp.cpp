// udp: 64 bytes back and forth between two connected UDP sockets on loopback, blocking. Loopback
// drops a datagram only when the receive buffer is full; with one under way it never is.
#include "../sockets.hpp"
#include "all.hpp"

namespace haltpoll::bench {

outcome run_udp(const job& j) { return socket_ping_pong(j, udp_pair()); }

}  // namespace haltpoll::bench
