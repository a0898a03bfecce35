// ctxsw: two processes hand a futex word back and forth, the load of the `contextswitch` benchmark
// (timectxsw). That one repeats FUTEX_WAKE until it has found a sleeper, which measures the wake
// and not the hand-off, and never ends when the other side polls; here a wake may find nobody.
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <new>

#include "../load.hpp"
#include "all.hpp"

namespace haltpoll::bench {
namespace {

using word = std::atomic<u32>;
constexpr u32 turn_of_a = 0, turn_of_b = 1;

/// libc's syscall(), as programs without a futex function call it; shared, not private, because the
/// word is in two processes.
bool hand_over(word& w, u32 to) {
  w.store(to);
  return ::syscall(SYS_futex, &w, FUTEX_WAKE, 1, nullptr, nullptr, 0) >= 0;
}

bool wait_while(word& w, u32 other) {
  while (w.load() == other)
    if (::syscall(SYS_futex, &w, FUTEX_WAIT, other, nullptr, nullptr, 0) != 0 && errno != EAGAIN &&
        errno != EINTR)
      return false;
  return true;
}

}  // namespace

outcome run_ctxsw(const job& j) {
  void* page =
      ::mmap(nullptr, sizeof(word), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return failure("mmap");
  word& w = *new (page) word(turn_of_a);
  outcome o =
      ping_pong(j, {[&] { return hand_over(w, turn_of_b) && wait_while(w, turn_of_b); }, {}},
                {[&] { return wait_while(w, turn_of_a) && hand_over(w, turn_of_a); }, {}});
  ::munmap(page, sizeof(word));
  return o;
}

}  // namespace haltpoll::bench
