// The program under test: `client_corners CASE`. What a wrapper could get wrong beyond the plain
// use of each call.
#include <malloc.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include "client.hpp"

namespace client {
namespace {

volatile sig_atomic_t handled = 0;

void print(const char* what, long result) {
  printf("%s: %ld %s\n", what, result, result < 0 ? strerrorname_np(errno) : "-");
}

/// The channel of a call after the library got to know it.
channel warm(const char* name) {
  const call& c = *find_call(name);
  const channel ch = make_channel(c);
  warm_up(c, ch);
  return ch;
}

char buffer[4096];

void nonblocking() {
  const channel before = make_channel(*find_call("read"));
  fcntl(before.wait, F_SETFL, O_NONBLOCK);
  for (int i = 0; i < 3; ++i) print("non-blocking from the start", read(before.wait, buffer, 1));
  for (const char* name : {"read", "recv", "accept"}) {
    const channel ch = warm(name);
    fcntl(ch.wait, F_SETFL, O_NONBLOCK);
    for (int i = 0; i < 3; ++i) print(name, find_call(name)->run(ch, -1));
    fcntl(ch.wait, F_SETFL, 0);
    later writer(in_block_us, [&] { ch.send(); });
    writer.start();
    print("blocking again", find_call(name)->run(ch, -1));
  }
  const channel ch = warm("recv");
  print("MSG_DONTWAIT", recv(ch.wait, buffer, 1, MSG_DONTWAIT));
  print("MSG_ERRQUEUE", recv(ch.wait, buffer, 1, MSG_ERRQUEUE | MSG_DONTWAIT));
}

int file_of(const char* text, size_t times) {
  char name[] = "/tmp/haltpoll-test-XXXXXX";
  const int fd = mkstemp(name);
  unlink(name);
  for (size_t i = 0; i < times; ++i)
    if (write(fd, text, strlen(text)) < 0) die("write");
  lseek(fd, 0, SEEK_SET);
  return fd;
}

/// The number of a known pipe comes to mean a file, in every way that libc has.
void replaced() {
  {
    const channel ch = warm("read");
    dup2(file_of("dup2", 1000), ch.wait);
    print("dup2", read(ch.wait, buffer, sizeof buffer));
  }
  {
    const channel ch = warm("read");
    dup3(file_of("dup3", 1000), ch.wait, O_CLOEXEC);
    print("dup3", read(ch.wait, buffer, sizeof buffer));
  }
  {
    const channel ch = warm("read");
    const int file = file_of("close", 1000);
    close(ch.wait);
    print("close",
          fcntl(file, F_DUPFD, ch.wait) == ch.wait ? read(ch.wait, buffer, sizeof buffer) : -2);
  }
  {
    const channel ch = warm("read");
    const int file = file_of("fclose", 1000);
    fclose(fdopen(ch.wait, "r"));
    print("fclose",
          fcntl(file, F_DUPFD, ch.wait) == ch.wait ? read(ch.wait, buffer, sizeof buffer) : -2);
  }
  {
    const channel ch = warm("read");
    const int file = file_of("close_range", 1000);
    close_range(static_cast<unsigned>(ch.wait), static_cast<unsigned>(ch.wait), 0);
    print("close_range",
          fcntl(file, F_DUPFD, ch.wait) == ch.wait ? read(ch.wait, buffer, sizeof buffer) : -2);
  }
  // And back: the number of a file comes to mean a pipe.
  const channel ch = make_channel(*find_call("read"));
  const int number = file_of("x", 100);
  print("file", read(number, buffer, sizeof buffer));
  dup2(ch.wait, number);
  const channel again{number, ch.feed, -1, ""};
  warm_up(*find_call("read"), again);
  printf("pipe again\n");
}

void waitall() {
  const channel ch = warm("recv");
  for (const long when : {in_window_us, in_block_us}) {
    later writer(when, [&] {
      if (write(ch.feed, "abc", 3) != 3) die("write");
      sleep_us(in_block_us);
      if (write(ch.feed, "defgh", 5) != 5) die("write");
    });
    writer.start();
    print("MSG_WAITALL", recv(ch.wait, buffer, 8, MSG_WAITALL));
  }
  ch.send();
  print("MSG_PEEK", recv(ch.wait, buffer, 8, MSG_PEEK));
  print("then", recv(ch.wait, buffer, 8, 0));
  const int low = 4;
  setsockopt(ch.wait, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof low);
  print("end of file", (close(ch.feed), recv(ch.wait, buffer, 8, 0)));
}

/// TCP keeps what is below the low-water mark from a blocking receive.
void low_water() {
  const int l = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t n = sizeof a;
  bind(l, reinterpret_cast<sockaddr*>(&a), n);
  listen(l, 1);
  getsockname(l, reinterpret_cast<sockaddr*>(&a), &n);
  channel ch;
  ch.feed = socket(AF_INET, SOCK_STREAM, 0);
  connect(ch.feed, reinterpret_cast<sockaddr*>(&a), n);
  ch.wait = accept(l, nullptr, nullptr);
  warm_up(*find_call("recv"), ch);
  const int low = 4;
  setsockopt(ch.wait, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof low);
  for (int i = 0; i < 2; ++i) {
    later writer(in_window_us, [&] {
      if (write(ch.feed, "ab", 2) != 2) die("write");
      sleep_us(in_block_us);
      if (write(ch.feed, "cdef", 4) != 4) die("write");
    });
    writer.start();
    print("SO_RCVLOWAT 4", recv(ch.wait, buffer, 8, 0));
  }
}

void receive_timeout() {
  for (const long us : {500L, 30'000L}) {
    const channel ch = warm("recv");
    const timeval t{0, us};
    setsockopt(ch.wait, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    for (int i = 0; i < 3; ++i) {
      const long long start = now_ns();
      const long result = recv(ch.wait, buffer, 1, 0);
      const int error = errno;
      const bool early = now_ns() - start < us * 1000;
      errno = error;
      printf("%ld us, early %d, ", us, early);
      print("SO_RCVTIMEO", result);
    }
    later writer(in_window_us, [&] { ch.send(); });
    writer.start();
    (void)recv(ch.wait, buffer, 1, 0);
  }
  // With a timeout a handler ends the call even with SA_RESTART.
  const channel ch = warm("recv");
  const timeval t{5, 0};
  setsockopt(ch.wait, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
  struct sigaction a {};
  a.sa_handler = [](int) { handled = handled + 1; };
  a.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &a, nullptr);
  const pthread_t me = pthread_self();
  for (int i = 0; i < 3; ++i) {
    later signaller(in_window_us, [&] { pthread_kill(me, SIGUSR1); });
    signaller.start();
    print("signal", recv(ch.wait, buffer, 1, 0));
  }
}

void select_update() {
  const channel ch = warm("select");
  for (const long when : {in_window_us, in_block_us, 500'000L}) {
    timeval t{0, 100'000};
    fd_set s;
    FD_ZERO(&s);
    FD_SET(ch.wait, &s);
    later writer(when, [&] { ch.send(); });
    writer.start();
    const int result = select(ch.wait + 1, &s, nullptr, nullptr, &t);
    printf("%d, set %d, rest %s\n", result, FD_ISSET(ch.wait, &s) ? 1 : 0,
           t.tv_sec == 0 && t.tv_usec == 0                         ? "none"
           : t.tv_sec == 0 && t.tv_usec > 0 && t.tv_usec < 100'000 ? "some"
                                                                   : "wrong");
    while (when > 100'000 && poll(nullptr, 0, 450) != 0) {
    }
    if (read(ch.wait, buffer, 1) != 1) die("read");
  }
}

/// A signal blocked by the thread and let through by the call: handled exactly inside the call.
void call_masks() {
  struct sigaction a {};
  a.sa_handler = [](int) { handled = handled + 1; };
  sigaction(SIGUSR1, &a, nullptr);
  sigset_t block, inside;
  sigemptyset(&block);
  sigaddset(&block, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &block, &inside);
  sigdelset(&inside, SIGUSR1);
  const timespec long_time{5, 0};
  for (const char* name : {"ppoll", "pselect", "epoll_pwait", "epoll_pwait2"}) {
    if (!available(*find_call(name))) continue;
    const channel ch = warm(name);
    const auto wait = [&] {
      pollfd p{ch.wait, POLLIN, 0};
      fd_set s;
      FD_ZERO(&s);
      FD_SET(ch.wait, &s);
      epoll_event e;
      if (ch.epoll < 0 && name[1] == 'p') return ppoll(&p, 1, &long_time, &inside);
      if (ch.epoll < 0) return pselect(ch.wait + 1, &s, nullptr, nullptr, &long_time, &inside);
      if (strlen(name) == 11) return epoll_pwait(ch.epoll, &e, 1, 5000, &inside);
      return epoll_pwait2(ch.epoll, &e, 1, &long_time, &inside);
    };
    handled = 0;
    raise(SIGUSR1);
    print(name, wait());
    printf("pending before: handled %d\n", static_cast<int>(handled));
    for (const long when : {in_window_us, in_block_us}) {
      const pthread_t me = pthread_self();
      later signaller(when, [&] { pthread_kill(me, SIGUSR1); });
      signaller.start();
      print(name, wait());
    }
    printf("handled %d\n", static_cast<int>(handled));
  }
}

void bad_arguments() {
  const channel ch = warm("ppoll");
  const timespec bad{0, 2'000'000'000}, negative{-1, 0};
  const timeval bad_value{0, -1};
  timeval v = bad_value;
  pollfd p{ch.wait, POLLIN, 0};
  epoll_event event;
  fd_set s;
  FD_ZERO(&s);
  FD_SET(ch.wait, &s);
  print("ppoll", ppoll(&p, 1, &bad, nullptr));
  print("ppoll", ppoll(&p, 1, &negative, nullptr));
  print("pselect", pselect(ch.wait + 1, &s, nullptr, nullptr, &bad, nullptr));
  print("select", select(ch.wait + 1, &s, nullptr, nullptr, &v));
  print("select", select(-1, &s, nullptr, nullptr, nullptr));
  print("epoll_wait", epoll_wait(ch.wait, &event, 1, 100));
  print("read -1", read(-1, buffer, 1));
  print("read 9999", read(9999, buffer, 1));
  const channel r = warm("read");
  r.send();
  void* volatile nowhere = reinterpret_cast<void*>(8);
  print("read to nowhere", read(r.wait, nowhere, 1));
  print("read nothing", read(r.wait, buffer, 0));
  print("recv from a pipe", recv(r.wait, buffer, 1, 0));
  fd_set closed;
  FD_ZERO(&closed);
  FD_SET(50, &closed);
  print("select on a closed one", select(51, &closed, nullptr, nullptr, nullptr));
}

void processes() {
  const channel ch = warm("epoll_wait");
  const pid_t child = fork();
  if (child == 0) {
    epoll_event e;
    for (int i = 0; i < 3; ++i) {
      const int n = epoll_wait(ch.epoll, &e, 1, 5000);
      if (n != 1 || read(ch.wait, buffer, 1) != 1) _exit(1);
    }
    _exit(0);
  }
  for (int i = 0; i < 3; ++i) {
    sleep_us(3000);
    ch.send();
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("epoll in a fork: %d\n", status);

  const channel reused = warm("read");
  const pid_t fast = vfork();
  if (fast == 0) {
    dup2(reused.wait, 100);
    close(100);
    execl("/bin/true", "true", nullptr);
    _exit(1);
  }
  waitpid(fast, &status, 0);
  printf("vfork and exec: %d\n", status);
  reused.send();
  print("parent", read(reused.wait, buffer, 1));

  FILE* p = popen("read line; echo got $line", "w");
  fputs("word\n", p);
  fflush(stdout);
  printf("popen: %d\n", pclose(p));
  printf("system: %d\n", system("x=$(sleep 0.01; echo y); test $x = y"));
}

channel handler_channel;
volatile long handler_read = 0;

/// Wrapped calls inside a handler that interrupts a wrapped call.
void in_handler() {
  handler_channel = warm("read");
  struct sigaction a {};
  a.sa_handler = [](int) {
    pollfd p{handler_channel.wait, POLLIN, 0};
    errno = 0;
    const int ready = poll(&p, 1, 1);
    handler_read = ready == 1 ? read(handler_channel.wait, buffer, 1) : -1;
  };
  a.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &a, nullptr);
  const channel ch = warm("recv");
  const pthread_t me = pthread_self();
  for (const long when : {in_window_us, in_block_us}) {
    later signaller(when, [&] {
      handler_channel.send();
      pthread_kill(me, SIGUSR1);
      sleep_us(in_block_us);
      ch.send();
    });
    handler_read = 0;
    signaller.start();
    print("recv", recv(ch.wait, buffer, 1, 0));
    printf("handler read %ld\n", handler_read);
  }
}

/// eventfd, timerfd, datagrams with their address, descriptors over a socket.
void other_kinds() {
  const int event = eventfd(0, 0);
  for (int i = 0; i < 3; ++i) {
    later writer(i == 0 ? 3000 : in_window_us, [&] { eventfd_write(event, 7); });
    writer.start();
    unsigned long long value = 0;
    printf("eventfd: %zd %llu\n", read(event, &value, sizeof value), value);
  }
  const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
  for (int i = 0; i < 3; ++i) {
    const itimerspec in{{0, 0}, {0, i == 0 ? 3'000'000 : 300'000}};
    timerfd_settime(timer, 0, &in, nullptr);
    unsigned long long value = 0;
    printf("timerfd: %zd %llu\n", read(timer, &value, sizeof value), value);
  }
  const int to = socket(AF_INET, SOCK_DGRAM, 0), from = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in a{}, b{}, who{};
  a.sin_family = b.sin_family = AF_INET;
  a.sin_addr.s_addr = b.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t n = sizeof a;
  bind(to, reinterpret_cast<sockaddr*>(&a), n);
  bind(from, reinterpret_cast<sockaddr*>(&b), n);
  getsockname(to, reinterpret_cast<sockaddr*>(&a), &n);
  getsockname(from, reinterpret_cast<sockaddr*>(&b), &n);
  for (int i = 0; i < 3; ++i) {
    later writer(i == 0 ? 3000 : in_window_us, [&] {
      sendto(from, "datagram", 8, 0, reinterpret_cast<sockaddr*>(&a), sizeof a);
    });
    writer.start();
    socklen_t m = sizeof who;
    const ssize_t got = recvfrom(to, buffer, 4, MSG_TRUNC, reinterpret_cast<sockaddr*>(&who), &m);
    printf("recvfrom: %zd, sender %s, %u bytes of address\n", got,
           who.sin_port == b.sin_port ? "right" : "wrong", m);
  }
}

long allocations = 0;
bool counting = false;

void allocates() {
  for (const call& c : calls()) {
    if (!available(c)) continue;
    const channel ch = make_channel(c);
    warm_up(c, ch);
    later writer(in_window_us, [&] { ch.send(); });
    writer.start();
    counting = true;
    const int result = c.run(ch, -1);
    counting = false;
    printf("%s: %d, allocations %ld\n", c.name, result, allocations);
  }
  const channel ch = make_channel(*find_call("read"));
  counting = true;
  signal(SIGUSR2, SIG_IGN);
  close(dup2(ch.wait, ch.wait + 10));
  counting = false;
  printf("observed calls, allocations %ld\n", allocations);
}

struct test_case {
  const char* name;
  void (*run)();
};
constexpr test_case cases[] = {
    {"nonblocking", nonblocking},
    {"replaced", replaced},
    {"waitall", waitall},
    {"low-water", low_water},
    {"receive-timeout", receive_timeout},
    {"select-update", select_update},
    {"call-masks", call_masks},
    {"bad-arguments", bad_arguments},
    {"processes", processes},
    {"in-handler", in_handler},
    {"other-kinds", other_kinds},
    {"allocates", allocates},
};

}  // namespace

int main(int count, char** arguments) {
  alarm(60);
  setvbuf(stdout, nullptr, _IOLBF, 0);
  for (const test_case& t : cases) {
    if (count != 2 || strcmp(t.name, arguments[1]) != 0) continue;
    t.run();
    return 0;
  }
  fprintf(stderr, "usage: client_corners CASE\n");
  return 64;
}

}  // namespace client

// Every allocation of the process comes by here.
extern "C" void* __libc_malloc(size_t);
extern "C" void* malloc(size_t size) {
  if (client::counting) ++client::allocations;
  return __libc_malloc(size);
}

int main(int count, char** arguments) { return client::main(count, arguments); }
