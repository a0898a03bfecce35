#pragma once
// sockets: connected pairs over loopback, and the ping-pong that the socket workloads share.
#include <array>
#include <string>
#include <variant>

#include "load.hpp"

namespace haltpoll::bench {

/// As `sockperf ping-pong -m 64`.
using message = std::array<char, 64>;

struct socket_pair {
  file a, b;
};

/// Connected over 127.0.0.1, free ports of the kernel's choice; TCP_NODELAY on both ends of tcp.
std::variant<socket_pair, std::string> tcp_pair();
std::variant<socket_pair, std::string> udp_pair();
std::variant<socket_pair, std::string> unix_pair();

/// Both sides blocking send and recv of one message.
outcome socket_ping_pong(const job& j, std::variant<socket_pair, std::string> sockets);

/// A's turn over `fd`: send, then wait for the answer. B's turn: the reverse.
bool ask(int fd);
bool reply(int fd);

/// Binds `fd` to 127.0.0.1 and a free port, which it returns; 0 with errno on failure.
int bind_loopback(int fd);
/// False with errno on failure.
bool connect_loopback(int fd, int port);

}  // namespace haltpoll::bench
