// The governors inside the kernel: one step of a governor per bpf_prog_test_run. The loader writes
// the step into .data, runs the program and reads the same memory.
#include "state_step.hpp"
#include "step.hpp"
#define SEC(name) __attribute__((section(name), used))

extern "C" {
SEC("license") char LICENSE[] = "Dual BSD/GPL";
constinit haltpoll::golden::step current{};
constinit haltpoll::golden::state_step current_state{};

SEC("syscall") int run_step(void* context) {
  (void)context;
  haltpoll::golden::run(current);
  return 0;
}

SEC("syscall") int run_state_step(void* context) {
  (void)context;
  haltpoll::golden::run(current_state);
  return 0;
}
}
