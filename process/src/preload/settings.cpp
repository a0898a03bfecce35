#include "settings.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <haltpoll/core/spec.hpp>
#include <haltpoll/cpu/clock.hpp>

#include "real.hpp"

namespace haltpoll::preload {

namespace spec = core::spec;

constinit settings config;
constinit thread_local thread_state this_thread [[gnu::tls_model("initial-exec")]] = {};

// Zero in a fresh thread, whatever the governors say: not copied from a template of theirs.
static_assert(
    sizeof(thread_state) < 1024,
    "static TLS is scarce: a process has about 1.6 KiB to spare for all preloaded libraries");

namespace {

template <class... Pieces>
void complain(Pieces... pieces) {
  char text[1024];
  spec::line line{text, sizeof text - 1};
  spec::put(line, "haltpoll: ");
  (spec::put(line, pieces), ...);
  text[line.size++] = '\n';
  // Straight to the kernel: stdio may not be up, and our output must not mix with the program's
  // buffers.
  syscall(SYS_write, STDERR_FILENO, text, line.size);
}

void read_governor() {
  const char* text = secure_getenv("HALTPOLL_GOVERNOR");
  spec::result parsed;
  if (text != nullptr) parsed = spec::parse(text);
  if (parsed.code != spec::error::none) {
    char why[768];
    spec::line reason{why, sizeof why};
    spec::describe(parsed, reason);
    complain("HALTPOLL_GOVERNOR: ", static_cast<const char*>(why), "; this process does not poll");
    return;
  }
  config.governor = parsed.params;
  if (parsed.params.which == core::any::kind::fixed && parsed.params.fixed.window_ns == 0) return;
  config.polling.store(true, std::memory_order_release);
}

void map_stats() {
  const char* path = secure_getenv("HALTPOLL_STATS");
  if (path == nullptr || path[0] == '\0') return;
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return complain("HALTPOLL_STATS: cannot open ", path, " (errno ", static_cast<u64>(errno), ")");
  struct stat s;
  void* page = MAP_FAILED;
  const bool fits = fstat(fd, &s) == 0 && s.st_size >= static_cast<off_t>(sizeof(stats_page));
  if (fits) page = mmap(nullptr, sizeof(stats_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int error = errno;
  real.close(fd);
  if (!fits)
    complain("HALTPOLL_STATS: ", path, " is shorter than ", static_cast<u64>(sizeof(stats_page)),
             " bytes");
  else if (page == MAP_FAILED)
    complain("HALTPOLL_STATS: cannot map ", path, " (errno ", static_cast<u64>(error), ")");
  else
    config.stats = static_cast<stats_page*>(page);
}

// Ordinary priority: after the constructors libc itself needs, before nobody in particular.
// Wrappers called earlier pass through.
[[gnu::constructor]] void start() {
  const int saved = errno;
  resolve_all();
  // Beside system calls of 500 ns the 18 ns that the counter saves do not show, and deciding to
  // trust it reads a file in /sys, some calls later: a program may have put itself behind a seccomp
  // filter by then.
  cpu::force_clock("vdso");
  read_settings();
  errno = saved;
}

}  // namespace

void read_settings() {
  map_stats();
  read_governor();
}

stats_slot* counters(thread_state& t) {
  if (config.stats == nullptr) return nullptr;
  if (t.slot == 0) t.slot = 1 + static_cast<u32>(syscall(SYS_gettid)) % stats_page::slots;
  return &config.stats->slot[t.slot - 1];
}

}  // namespace haltpoll::preload
