#pragma once
// client: what the small programs under test share. They print what a call returned, so that the
// runs with and without the library can be compared line by line; nothing printed depends on how
// long something took, only on its order.
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

namespace client {

inline constexpr long in_window_us = 300;  ///< the tests' window is 1 ms
inline constexpr long in_block_us = 20'000;

inline long long now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

inline void sleep_us(long us) {
  const timespec t{us / 1'000'000, us % 1'000'000 * 1000};
  nanosleep(&t, nullptr);
}

[[noreturn]] inline void die(const char* what) {
  perror(what);
  exit(70);
}

/// A thread that does something a while after it is told to.
class later {
 public:
  later(long us, std::function<void()> what) : us_(us), what_(std::move(what)) {
    sem_init(&start_, 0, 0);
    pthread_create(&thread_, nullptr, run, this);
  }
  ~later() {
    pthread_join(thread_, nullptr);
    sem_destroy(&start_);
  }
  void start() { sem_post(&start_); }

 private:
  static void* run(void* self) {
    auto* l = static_cast<later*>(self);
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    sem_wait(&l->start_);
    sleep_us(l->us_);
    l->what_();
    return nullptr;
  }
  long us_;
  std::function<void()> what_;
  sem_t start_;
  pthread_t thread_;
};

/// Two ends: what is written to `feed` arrives at `wait`. For accept, `feed()` connects.
struct channel {
  int wait = -1;
  int feed = -1;
  int epoll = -1;
  std::string address;  ///< of a listening socket

  void send() const {
    if (address.empty()) {
      if (write(feed, "x", 1) != 1) die("write");
      return;
    }
    const int s = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    memcpy(a.sun_path, address.data(), address.size());
    if (connect(s, reinterpret_cast<sockaddr*>(&a),
                static_cast<socklen_t>(sizeof(sa_family_t) + address.size())) != 0)
      die("connect");
    close(s);
  }
};

/// One wrapped call in its simplest use.
struct call {
  const char* name;
  enum { pipe_like, socket_like, listening } kind;
  bool takes_timeout;                   ///< poll, select and epoll families
  int (*run)(const channel&, long us);  ///< waits for the channel; `us` < 0: no timeout
};

const std::vector<call>& calls();
const call* find_call(const char* name);
/// False where the kernel (or the emulator) does not have it.
bool available(const call& c);
channel make_channel(const call& c);

/// Makes the library know the descriptor and poll: a call that really blocks, then another.
void warm_up(const call& c, const channel& ch);

}  // namespace client
