// The program under test: `client CASE [CALL]` prints what happened.
#include "client.hpp"

namespace client {
namespace {

volatile sig_atomic_t handled = 0;
void on_signal(int) { handled = handled + 1; }

void install(int sig, void (*handler)(int), int flags) {
  struct sigaction a {};
  a.sa_handler = handler;
  a.sa_flags = flags;
  sigaction(sig, &a, nullptr);
}

void print(const char* what, int result, int error) {
  printf("%s: %d %s\n", what, result, result < 0 ? strerrorname_np(error) : "-");
}

/// A signal while the call polls or blocks. Where it does not end the call, data 20 ms later does.
void eintr(const call& c) {
  for (const int flags : {0, SA_RESTART}) {
    for (const long when : {in_window_us, in_block_us}) {
      const channel ch = make_channel(c);
      warm_up(c, ch);
      install(SIGUSR1, on_signal, flags);
      handled = 0;
      const pthread_t me = pthread_self();
      later signaller(when, [&] {
        pthread_kill(me, SIGUSR1);
        sleep_us(in_block_us);
        ch.send();
      });
      signaller.start();
      const int result = c.run(ch, -1);
      const int error = errno;
      printf("%s %s: handled %d, ", flags != 0 ? "SA_RESTART" : "no flags",
             when == in_window_us ? "poll" : "block", static_cast<int>(handled));
      print(c.name, result, error);
      install(SIGUSR1, SIG_IGN, 0);
    }
  }
}

/// The same with handlers installed by the older functions.
void eintr_by_signal(const call& c) {
  struct way {
    const char* name;
    void (*install)();
  };
  const way ways[] = {
      {"signal", [] { signal(SIGUSR1, on_signal); }},
      {"siginterrupt", [] { signal(SIGUSR1, on_signal), siginterrupt(SIGUSR1, 1); }},
      {"sigset", [] { sigset(SIGUSR1, on_signal); }},
      {"sysv_signal", [] { sysv_signal(SIGUSR1, on_signal); }},
  };
  for (const way& w : ways) {
    const channel ch = make_channel(c);
    warm_up(c, ch);
    w.install();
    handled = 0;
    const pthread_t me = pthread_self();
    later signaller(in_window_us, [&] {
      pthread_kill(me, SIGUSR1);
      sleep_us(in_block_us);
      ch.send();
    });
    signaller.start();
    const int result = c.run(ch, -1);
    print(w.name, result, errno);
    install(SIGUSR1, SIG_IGN, 0);
  }
}

/// Data in the window and later; errno untouched by success.
void data(const call& c) {
  const channel ch = make_channel(c);
  warm_up(c, ch);
  for (const long when : {0L, in_window_us, in_block_us}) {
    later writer(when, [&] { ch.send(); });
    writer.start();
    errno = ELOOP;
    const int result = c.run(ch, -1);
    const int error = errno;
    printf("%s: %d, errno %s\n", c.name, result, strerrorname_np(error));
  }
  ch.send();
  print("there already", c.run(ch, -1), errno);
}

/// Timeouts below and above the window, zero and absurd ones.
void timeouts(const call& c) {
  const channel ch = make_channel(c);
  warm_up(c, ch);
  for (const long us : {0L, 200L, 3000L, 20'000L}) {
    const long long start = now_ns();
    const int result = c.run(ch, us);
    const int error = errno;
    const bool early = now_ns() - start < us * 1000;
    printf("%ld us, early %d, ", us, early);
    print(c.name, result, error);
  }
}

/// pthread_cancel while the call polls or blocks.
void cancel(const call& c) {
  struct job {
    const call& c;
    channel ch;
    sem_t warm;
  };
  for (const long when : {in_window_us, in_block_us}) {
    job j{c, make_channel(c), {}};
    sem_init(&j.warm, 0, 0);
    pthread_t thread;
    pthread_create(
        &thread, nullptr,
        [](void* p) -> void* {
          job& mine = *static_cast<job*>(p);
          warm_up(mine.c, mine.ch);
          sem_post(&mine.warm);
          mine.c.run(mine.ch, -1);
          return nullptr;
        },
        &j);
    sem_wait(&j.warm);
    sleep_us(when);
    pthread_cancel(thread);
    void* result = nullptr;
    pthread_join(thread, &result);
    printf("%s: %s\n", when == in_window_us ? "poll" : "block",
           result == PTHREAD_CANCELED ? "cancelled" : "returned");
  }
}

void nothing(const call&) { printf("nothing\n"); }

/// Both sides of a ping-pong pinned to one CPU: `client same-cpu read`.
void same_cpu(const call& c) {
  cpu_set_t one;
  sched_getaffinity(0, sizeof one, &one);
  int first = 0;
  while (!CPU_ISSET(first, &one)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  sched_setaffinity(0, sizeof one, &one);
  const channel there = make_channel(c), back = make_channel(c);
  constexpr int rounds = 5000;
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < rounds; ++i) {
      if (c.run(there, -1) != 1) _exit(1);
      back.send();
    }
    _exit(0);
  }
  for (int i = 0; i < rounds; ++i) {
    there.send();
    if (c.run(back, -1) != 1) die("ping");
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("%s: %d rounds, child %d\n", c.name, rounds, status);
}

struct test_case {
  const char* name;
  void (*run)(const call&);
};
constexpr test_case cases[] = {
    {"eintr", eintr},       {"eintr-by-signal", eintr_by_signal},
    {"data", data},         {"timeouts", timeouts},
    {"cancel", cancel},     {"nothing", nothing},
    {"same-cpu", same_cpu},
};

}  // namespace

int main(int count, char** arguments) {
  alarm(60);
  setvbuf(stdout, nullptr, _IOLBF, 0);
  const call* c = find_call(count > 2 ? arguments[2] : "read");
  for (const test_case& t : cases) {
    if (count < 2 || c == nullptr || strcmp(t.name, arguments[1]) != 0) continue;
    if (!available(*c)) return 69;
    t.run(*c);
    return 0;
  }
  fprintf(stderr, "usage: client CASE [CALL]\n");
  return 64;
}

}  // namespace client

int main(int count, char** arguments) { return client::main(count, arguments); }
