#include "sockets.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace haltpoll::bench {
namespace {

sockaddr_in loopback(int port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(static_cast<in_port_t>(port));
  return at;
}

bool no_delay(int fd) {
  const int on = 1;
  return ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0;
}

bool send_all(int fd, const message& m) {
  std::size_t sent = 0;
  while (sent < m.size()) {
    const ssize_t n = ::send(fd, m.data() + sent, m.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

bool receive_all(int fd, message& m) {
  std::size_t got = 0;
  while (got < m.size()) {
    const ssize_t n = ::recv(fd, m.data() + got, m.size() - got, 0);
    if (n <= 0) return false;
    got += static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace

int bind_loopback(int fd) {
  sockaddr_in at = loopback(0);
  socklen_t size = sizeof at;
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&at), size) != 0) return 0;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) != 0) return 0;
  return ntohs(at.sin_port);
}

bool connect_loopback(int fd, int port) {
  const sockaddr_in at = loopback(port);
  return ::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
}

std::variant<socket_pair, std::string> tcp_pair() {
  const file listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int port = bind_loopback(listening.get());
  if (port == 0 || ::listen(listening.get(), 1) != 0) return failure("tcp listen on 127.0.0.1");
  socket_pair p{file(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), file()};
  if (!connect_loopback(p.a.get(), port)) return failure("tcp connect to 127.0.0.1");
  p.b = file(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!p.b.ok()) return failure("tcp accept");
  if (!no_delay(p.a.get()) || !no_delay(p.b.get())) return failure("TCP_NODELAY");
  return p;
}

std::variant<socket_pair, std::string> udp_pair() {
  const auto datagram = [] { return file(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)); };
  socket_pair p{datagram(), datagram()};
  const int port_a = bind_loopback(p.a.get()), port_b = bind_loopback(p.b.get());
  if (port_a == 0 || port_b == 0) return failure("udp bind to 127.0.0.1");
  if (!connect_loopback(p.a.get(), port_b) || !connect_loopback(p.b.get(), port_a))
    return failure("udp connect to 127.0.0.1");
  return p;
}

std::variant<socket_pair, std::string> unix_pair() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) return failure("socketpair");
  return socket_pair{file(fds[0]), file(fds[1])};
}

bool ask(int fd) {
  message m{};
  return send_all(fd, m) && receive_all(fd, m);
}

bool reply(int fd) {
  message m;
  return receive_all(fd, m) && send_all(fd, m);
}

outcome socket_ping_pong(const job& j, std::variant<socket_pair, std::string> sockets) {
  if (auto* problem = std::get_if<std::string>(&sockets)) return *problem;
  socket_pair& p = std::get<socket_pair>(sockets);
  return ping_pong(j, {[&] { return ask(p.a.get()); }, {&p.a}},
                   {[&] { return reply(p.b.get()); }, {&p.b}});
}

}  // namespace haltpoll::bench
