// unix: 64 bytes back and forth over a stream socket pair, blocking.
#include "../sockets.hpp"
#include "all.hpp"

namespace haltpoll::bench {

outcome run_unix(const job& j) { return socket_ping_pong(j, unix_pair()); }

}  // namespace haltpoll::bench
