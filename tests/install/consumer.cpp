#include <haltpoll/wait/wait.hpp>
#include <thread>

// Every primitive once, so that nothing it needs is missing from the installation.
int main() {
  using namespace haltpoll::wait;
  event request, reply;
  semaphore tokens(0);
  waiter changed;
  std::atomic<int> turn{0};
  int answer = 0;
  std::thread peer([&] {
    request.wait();
    answer = 42;
    reply.set();
    tokens.acquire();
    turn = 1;
    notify_one(turn);
    changed.notify_all();
  });
  const auto key = changed.prepare();
  request.set();
  reply.wait();
  tokens.release();
  wait_on(turn, 0);
  changed.wait(key);
  peer.join();
  return answer == 42 && !reply.try_wait() ? 0 : 1;
}
