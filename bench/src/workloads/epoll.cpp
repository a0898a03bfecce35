// epoll: the tcp workload with a server as event loops are built: epoll_wait, then a non-blocking
// recv until there is nothing more, then the answer. The client blocks in recv.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>

#include "../sockets.hpp"
#include "all.hpp"

namespace haltpoll::bench {
namespace {

/// Waits for one whole message and answers it.
bool serve(int epoll, int fd) {
  message m;
  std::size_t got = 0;
  while (got < m.size()) {
    epoll_event ready;
    if (::epoll_wait(epoll, &ready, 1, -1) != 1) return false;
    ssize_t n = -1;
    while (got < m.size() && (n = ::recv(fd, m.data() + got, m.size() - got, 0)) > 0)
      got += static_cast<std::size_t>(n);
    if (got < m.size() && (n == 0 || errno != EAGAIN)) return false;
  }
  return ::send(fd, m.data(), m.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(m.size());
}

}  // namespace

outcome run_epoll(const job& j) {
  auto sockets = tcp_pair();
  if (auto* problem = std::get_if<std::string>(&sockets)) return *problem;
  socket_pair& p = std::get<socket_pair>(sockets);
  if (::fcntl(p.b.get(), F_SETFL, O_NONBLOCK) != 0) return failure("O_NONBLOCK");
  file epoll(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event interest{};
  interest.events = EPOLLIN;
  if (!epoll.ok() || ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, p.b.get(), &interest) != 0)
    return failure("epoll");
  return ping_pong(j, {[&] { return ask(p.a.get()); }, {&p.a}},
                   {[&] { return serve(epoll.get(), p.b.get()); }, {&p.b, &epoll}});
}

}  // namespace haltpoll::bench
