// One misuse per CASE; each has to be refused with the message that CMakeLists.txt names. CASE 0
// has to compile.
#include <haltpoll/wait/wait.hpp>

struct too_big {
  long words[8];
};

inline void misuse() {
  using namespace haltpoll::wait;
  event e, f;
  semaphore s(0);
  std::atomic<too_big> a;
#if CASE == 1
  event copy(e);
#elif CASE == 2
  e = f;
#elif CASE == 3
  semaphore copy(s);
#elif CASE == 4
  wait_on(a, too_big{});
#elif CASE == 5
  basic_event<reset::automatic, fixed_governor<haltpoll::core::fixed::params{2'000'000}>> slow;
#elif CASE == 6
  e.wait_until(std::chrono::system_clock::now());  // may be set while one waits
#elif CASE == 7
  waiter w, copy(w);
#endif
  (void)sizeof(a), (void)sizeof(s), (void)f;
}
