#include "descriptors.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <haltpoll/core/spec.hpp>

#include "real.hpp"

namespace haltpoll::preload {
namespace descriptors {
namespace {

constinit std::atomic<entry> table[limit];

constexpr auto relaxed = std::memory_order_relaxed;
constexpr entry generation_step = 0x100;

/// SO_RCVTIMEO below this could end before a poll does. Above, the total wait is at most one window
/// longer.
constexpr u64 shortest_timeout_ns = 10 * core::spec::hard_cap_ns;

entry socket_kind(int fd) {
  timeval t{};
  socklen_t n = sizeof t;
  int low_water = 1;
  socklen_t m = sizeof low_water;
  if (getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, &n) != 0) return untouched;
  // A non-blocking receive hands out less than the low-water mark, a blocking one does not.
  if (getsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &low_water, &m) == 0 && low_water > 1)
    return untouched;
  const u64 ns = static_cast<u64>(t.tv_sec) * 1'000'000'000 + static_cast<u64>(t.tv_usec) * 1000;
  if (ns == 0) return pollable;
  return ns < shortest_timeout_ns ? untouched : pollable | timed;
}

entry kind_of(int fd) {
  struct stat s;
  if (fstat(fd, &s) != 0) return 0;
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_NONBLOCK) != 0)
    return 0;  // did not block after all, it was only preempted
  switch (s.st_mode & S_IFMT) {
    case S_IFIFO: return pollable;
    case S_IFSOCK: return socket_kind(fd);
    case 0: return pollable;  // anonymous inode
    default: return untouched;
  }
}

bool in_table(int fd) { return fd >= 0 && fd < limit; }

}  // namespace

entry get(int fd) { return in_table(fd) ? table[fd].load(relaxed) : untouched; }

entry classify(int fd, entry seen) {
  if (!in_table(fd)) return untouched;
  const int saved = errno;
  const entry found = static_cast<entry>(seen | kind_of(fd));
  errno = saved;
  // Fails if the descriptor was closed meanwhile: the generation has moved.
  table[fd].compare_exchange_strong(seen, found, relaxed);
  return found;
}

void refuse_nowait(int fd, entry seen) {
  if (in_table(fd))
    table[fd].compare_exchange_strong(seen, static_cast<entry>(seen | by_poll), relaxed);
}

void forget(int fd) {
  if (!in_table(fd)) return;
  const entry e = table[fd].load(relaxed);
  table[fd].store(static_cast<entry>((e & ~kind_mask) + generation_step), relaxed);
}

void forget_range(u32 first, u32 last) {
  for (u32 fd = first; fd <= last && fd < static_cast<u32>(limit); ++fd)
    forget(static_cast<int>(fd));
}

}  // namespace descriptors

namespace {
/// fileno() of a stream about to be closed, without touching errno.
void forget_stream(FILE* stream) {
  resolve_if_needed();
  if (stream == nullptr) return;
  const int saved = errno;
  descriptors::forget(fileno(stream));
  errno = saved;
}
}  // namespace

HALTPOLL_EXPORT int close(int fd) {
  descriptors::forget(fd);
  return real.close(fd);
}
HALTPOLL_EXPORT int dup2(int from, int to) noexcept {
  if (from != to) descriptors::forget(to);
  return real.dup2(from, to);
}
HALTPOLL_EXPORT int dup3(int from, int to, int flags) noexcept {
  descriptors::forget(to);
  return real.dup3(from, to, flags);
}
HALTPOLL_EXPORT int close_range(unsigned first, unsigned last, int flags) noexcept {
  descriptors::forget_range(first, last);
  return real.close_range(first, last, flags);
}
HALTPOLL_EXPORT void closefrom(int first) noexcept {
  descriptors::forget_range(first < 0 ? 0 : static_cast<u32>(first), ~0U);
  real.closefrom(first);
}
HALTPOLL_EXPORT int setsockopt(int fd, int level, int name, const void* value,
                               socklen_t size) noexcept {
  const int result = real.setsockopt(fd, level, name, value, size);
  // Afterwards: a classification from here on sees the new value, an earlier one is void.
  if (level == SOL_SOCKET && (name == SO_RCVTIMEO || name == SO_RCVLOWAT)) descriptors::forget(fd);
  return result;
}
HALTPOLL_EXPORT int fclose(FILE* stream) {
  forget_stream(stream);
  return real.fclose(stream);
}
HALTPOLL_EXPORT int pclose(FILE* stream) {
  forget_stream(stream);
  return real.pclose(stream);
}
HALTPOLL_EXPORT FILE* freopen(const char* path, const char* mode, FILE* stream) {
  forget_stream(stream);
  return real.freopen(path, mode, stream);
}
HALTPOLL_EXPORT FILE* freopen64(const char* path, const char* mode, FILE* stream) {
  forget_stream(stream);
  return real.freopen64(path, mode, stream);
}

}  // namespace haltpoll::preload
