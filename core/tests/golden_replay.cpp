// golden_replay: replays recorded decisions of the Linux kernel through our governors.
//
//     golden_replay [--bpf] FILE...     FILE.csv or FILE.csv.gz, named haltpoll_unit_6.12... and so
//     on
//
// One line per file on stdout: `FILE rows=N mismatches=M`; the first mismatches in detail on
// stderr. Exit: 0 all equal, 1 mismatches, 64 usage, 65 a file that cannot be replayed, 70 our BPF
// program is at fault, 77 the kernel does not let us load it.
#include <cstdio>
#include <cstring>
#include <memory>

#include "golden.hpp"
#include "kernel_runner.hpp"

using namespace haltpoll::golden;

int main(int count, char** arguments) {
  int first = 1;
  std::unique_ptr<kernel_runner> kernel;
  if (first < count && std::strcmp(arguments[first], "--bpf") == 0) {
    ++first;
    kernel = std::make_unique<kernel_runner>();
  }
  if (first >= count || arguments[first][0] == '-') {
    std::fprintf(stderr, "usage: golden_replay [--bpf] FILE...\n");
    return 64;
  }
  if (kernel != nullptr && !kernel->error().empty()) {
    std::fprintf(stderr, "golden_replay: %s\n", kernel->error().c_str());
    return kernel->refused() ? 77 : 70;
  }
  runner natively;
  runner& decide = kernel != nullptr ? static_cast<runner&>(*kernel) : natively;

  bool equal = true;
  bool readable = true;
  for (int i = first; i < count; ++i) {
    const report r = replay_file(arguments[i], decide);
    if (kernel != nullptr && !kernel->error().empty()) {
      std::fprintf(stderr, "golden_replay: %s\n", kernel->error().c_str());
      return 70;
    }
    if (!r.error.empty()) {
      std::fprintf(stderr, "golden_replay: %s: %s\n", arguments[i], r.error.c_str());
      readable = false;
      continue;
    }
    for (const std::string& line : r.details)
      std::fprintf(stderr, "golden_replay: %s: %s\n", arguments[i], line.c_str());
    std::printf("%s rows=%zu mismatches=%zu\n", arguments[i], r.rows, r.mismatches);
    if (r.mismatches != 0) equal = false;
  }
  if (!readable) return 65;
  return equal ? 0 : 1;
}
