#include "client.hpp"

namespace client {
namespace {

struct times {
  timespec spec;
  timeval value;
  int ms;
  bool none;
  explicit times(long us)
      : spec{us / 1'000'000, us % 1'000'000 * 1000},
        value{us / 1'000'000, us % 1'000'000},
        ms(us < 0 ? -1 : static_cast<int>((us + 999) / 1000)),
        none(us < 0) {}
};

char byte;

int by_read(const channel& c, long) { return static_cast<int>(read(c.wait, &byte, 1)); }
int by_readv(const channel& c, long) {
  const iovec v{&byte, 1};
  return static_cast<int>(readv(c.wait, &v, 1));
}
int by_recv(const channel& c, long) { return static_cast<int>(recv(c.wait, &byte, 1, 0)); }
int by_recv_all(const channel& c, long) {
  return static_cast<int>(recv(c.wait, &byte, 1, MSG_WAITALL));
}
int by_recvfrom(const channel& c, long) {
  return static_cast<int>(recvfrom(c.wait, &byte, 1, 0, nullptr, nullptr));
}
int by_recvmsg(const channel& c, long) {
  iovec v{&byte, 1};
  msghdr m{};
  m.msg_iov = &v;
  m.msg_iovlen = 1;
  return static_cast<int>(recvmsg(c.wait, &m, 0));
}
int accepted(int fd) {
  if (fd < 0) return -1;
  close(fd);
  return 1;
}
int by_accept(const channel& c, long) { return accepted(accept(c.wait, nullptr, nullptr)); }
int by_accept4(const channel& c, long) {
  return accepted(accept4(c.wait, nullptr, nullptr, SOCK_CLOEXEC));
}

// The multiplexing calls take the byte out as well, so that the next one waits again.
int drained(const channel& c, int ready) { return ready == 1 ? by_read(c, -1) : ready; }

int by_poll(const channel& c, long us) {
  pollfd p{c.wait, POLLIN, 0};
  return drained(c, poll(&p, 1, times(us).ms));
}
int by_ppoll(const channel& c, long us) {
  pollfd p{c.wait, POLLIN, 0};
  const times t(us);
  return drained(c, ppoll(&p, 1, t.none ? nullptr : &t.spec, nullptr));
}
int by_select(const channel& c, long us) {
  fd_set s;
  FD_ZERO(&s);
  FD_SET(c.wait, &s);
  times t(us);
  return drained(c, select(c.wait + 1, &s, nullptr, nullptr, t.none ? nullptr : &t.value));
}
int by_pselect(const channel& c, long us) {
  fd_set s;
  FD_ZERO(&s);
  FD_SET(c.wait, &s);
  const times t(us);
  return drained(c, pselect(c.wait + 1, &s, nullptr, nullptr, t.none ? nullptr : &t.spec, nullptr));
}
int by_epoll_wait(const channel& c, long us) {
  epoll_event e;
  return drained(c, epoll_wait(c.epoll, &e, 1, times(us).ms));
}
int by_epoll_pwait(const channel& c, long us) {
  epoll_event e;
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  return drained(c, epoll_pwait(c.epoll, &e, 1, times(us).ms, &mask));
}
int by_epoll_pwait2(const channel& c, long us) {
  epoll_event e;
  const times t(us);
  return drained(c, epoll_pwait2(c.epoll, &e, 1, t.none ? nullptr : &t.spec, nullptr));
}

}  // namespace

const std::vector<call>& calls() {
  static const std::vector<call> all = {
      {"read", call::pipe_like, false, by_read},
      {"readv", call::pipe_like, false, by_readv},
      {"recv", call::socket_like, false, by_recv},
      {"recv-waitall", call::socket_like, false, by_recv_all},
      {"recvfrom", call::socket_like, false, by_recvfrom},
      {"recvmsg", call::socket_like, false, by_recvmsg},
      {"accept", call::listening, false, by_accept},
      {"accept4", call::listening, false, by_accept4},
      {"poll", call::pipe_like, true, by_poll},
      {"ppoll", call::pipe_like, true, by_ppoll},
      {"select", call::pipe_like, true, by_select},
      {"pselect", call::pipe_like, true, by_pselect},
      {"epoll_wait", call::pipe_like, true, by_epoll_wait},
      {"epoll_pwait", call::pipe_like, true, by_epoll_pwait},
      {"epoll_pwait2", call::pipe_like, true, by_epoll_pwait2},
  };
  return all;
}

const call* find_call(const char* name) {
  for (const call& c : calls())
    if (strcmp(c.name, name) == 0) return &c;
  return nullptr;
}

bool available(const call& c) {
  epoll_event e;
  const timespec zero{};
  return strcmp(c.name, "epoll_pwait2") != 0 || epoll_pwait2(-1, &e, 1, &zero, nullptr) == 0 ||
         errno != ENOSYS;
}

channel make_channel(const call& c) {
  channel made;
  int pair[2] = {-1, -1};
  if (c.kind == call::pipe_like) {
    if (pipe(pair) != 0) die("pipe");
  } else if (c.kind == call::socket_like) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) die("socketpair");
  } else {
    static int count = 0;
    made.address = std::string(1, '\0') + "haltpoll-test-" + std::to_string(getpid()) + "-" +
                   std::to_string(count++);
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    memcpy(a.sun_path, made.address.data(), made.address.size());
    pair[0] = socket(AF_UNIX, SOCK_STREAM, 0);
    const auto size = static_cast<socklen_t>(sizeof(sa_family_t) + made.address.size());
    if (bind(pair[0], reinterpret_cast<sockaddr*>(&a), size) != 0 || listen(pair[0], 8) != 0)
      die("listen");
  }
  made.wait = pair[0];
  made.feed = pair[1];
  if (strncmp(c.name, "epoll", 5) == 0) {
    made.epoll = epoll_create1(0);
    epoll_event e{};
    e.events = EPOLLIN;
    epoll_ctl(made.epoll, EPOLL_CTL_ADD, made.wait, &e);
  }
  return made;
}

void warm_up(const call& c, const channel& ch) {
  for (int i = 0; i < 2; ++i) {
    later writer(3000, [&] { ch.send(); });
    writer.start();
    if (c.run(ch, -1) != 1) die("warm-up");
  }
}

}  // namespace client
