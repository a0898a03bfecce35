// The program under test: uses wrapped calls before any constructor has run, ours included, and
// again from main.
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

struct results {
  ssize_t read, recv, refused;
  int poll, ppoll, select, epoll, accept, dup2, close;
};

results use_all() {
  results r{};
  int pipes[2], pair[2];
  char byte;
  if (pipe(pipes) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return r;
  if (write(pipes[1], "ab", 2) != 2 || write(pair[1], "x", 1) != 1) return r;
  pollfd p{pipes[0], POLLIN, 0};
  r.poll = poll(&p, 1, 1000);
  const timespec second{1, 0};
  r.ppoll = ppoll(&p, 1, &second, nullptr);
  fd_set s;
  FD_ZERO(&s);
  FD_SET(pipes[0], &s);
  timeval t{1, 0};
  r.select = select(pipes[0] + 1, &s, nullptr, nullptr, &t);
  const int e = epoll_create1(0);
  epoll_event event{};
  event.events = EPOLLIN;
  epoll_ctl(e, EPOLL_CTL_ADD, pipes[0], &event);
  r.epoll = epoll_wait(e, &event, 1, 1000);
  r.read = read(pipes[0], &byte, 1);
  r.recv = recv(pair[0], &byte, 1, 0);
  r.refused = recv(pipes[0], &byte, 1, 0);
  r.accept = accept(pipes[0], nullptr, nullptr);
  r.dup2 = dup2(pair[0], pipes[0]) - pipes[0];
  r.close = close(pipes[0]) + close(pipes[1]) + close(pair[0]) + close(pair[1]) + close(e);
  return r;
}

void print(const char* when, const results& r) {
  printf("%s: %zd %zd %zd %d %d %d %d %d %d %d\n", when, r.read, r.recv, r.refused, r.poll, r.ppoll,
         r.select, r.epoll, r.accept, r.dup2, r.close);
}

results early;
void before_constructors() { early = use_all(); }
[[gnu::section(".preinit_array"), gnu::used]] void (*const entry)() = before_constructors;

}  // namespace

int main() {
  print("before", early);
  print("main", use_all());
}
