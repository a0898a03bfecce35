#include "kernel_runner.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

// The skeleton declares its variables as `struct step` and `struct state_step`.
using haltpoll::golden::state_step;
using haltpoll::golden::step;
#include "governors.skel.h"

namespace haltpoll::golden {
namespace {

std::string* log_of_load = nullptr;

int collect(libbpf_print_level level, const char* format, va_list arguments) {
  if (level == LIBBPF_DEBUG || log_of_load == nullptr) return 0;
  char line[4096];
  std::vsnprintf(line, sizeof line, format, arguments);
  *log_of_load += line;
  return 0;
}

}  // namespace

kernel_runner::kernel_runner() {
  log_of_load = &log_;
  const auto before = libbpf_set_print(collect);
  object_ = governors__open_and_load();
  const int code = errno;
  libbpf_set_print(before);
  log_of_load = nullptr;
  if (object_ != nullptr) return;
  // EPERM comes before the verifier looks at a program, ENOSYS from kernels without bpf(); EACCES
  // and EINVAL are the verifier's verdict on ours.
  refused_ = code == EPERM || code == ENOSYS;
  error_ =
      std::string("the kernel does not load BPF programs of type syscall: ") + std::strerror(code);
  if (!refused_) error_ += "\n" + log_;
}

kernel_runner::~kernel_runner() { governors__destroy(object_); }

bool kernel_runner::call(int program) {
  LIBBPF_OPTS(bpf_test_run_opts, options);
  const int code = bpf_prog_test_run_opts(program, &options);
  if (code == 0 && options.retval == 0) return true;
  error_ = std::string("bpf_prog_test_run: ") + std::strerror(-code);
  return false;
}

bool kernel_runner::run(step& s) {
  object_->data->current = s;
  if (!call(bpf_program__fd(object_->progs.run_step))) return false;
  s = object_->data->current;
  return true;
}

bool kernel_runner::run(state_step& s) {
  object_->data->current_state = s;
  if (!call(bpf_program__fd(object_->progs.run_state_step))) return false;
  s = object_->data->current_state;
  return true;
}

}  // namespace haltpoll::golden
