// pipe, pipe-same-cpu: two processes pass one byte back and forth through two pipes, as `perf bench
// sched pipe` does (which passes four). On two CPUs each read idles a CPU; on one, polling can only
// lose, and must stop.
#include <fcntl.h>

#include "../load.hpp"
#include "all.hpp"

namespace haltpoll::bench {

outcome run_pipe(const job& j) {
  int there[2], back[2];
  if (::pipe2(there, O_CLOEXEC) != 0) return failure("pipe");
  file a_to_b_out(there[0]), a_to_b_in(there[1]);
  if (::pipe2(back, O_CLOEXEC) != 0) return failure("pipe");
  file b_to_a_out(back[0]), b_to_a_in(back[1]);

  const auto pass = [](const file& f) { return ::write(f.get(), "", 1) == 1; };
  const auto take = [](const file& f) {
    char byte;
    return ::read(f.get(), &byte, 1) == 1;
  };
  const side a{[&] { return pass(a_to_b_in) && take(b_to_a_out); }, {&a_to_b_in, &b_to_a_out}};
  const side b{[&] { return take(a_to_b_out) && pass(b_to_a_in); }, {&a_to_b_out, &b_to_a_in}};
  return ping_pong(j, a, b);
}

}  // namespace haltpoll::bench
