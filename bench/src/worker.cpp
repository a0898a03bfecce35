// haltpoll-worker: measures one arm of one round and prints the sample as one line of JSON.
//
//   haltpoll-worker WORKLOAD --ops N --cpu-a A --cpu-b B [--variant V]
//
// A program of its own, because a preload library is chosen when a process starts, and because what
// a governor learned must not leak from one sample into the next.
#include <signal.h>

#include <charconv>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

#include "wire.hpp"
#include "workloads/all.hpp"

namespace {

namespace bench = haltpoll::bench;

constexpr int exit_usage = 64;

int say(const bench::outcome& o, int code) {
  std::fputs(bench::encode(o).c_str(), stdout);
  return std::fflush(stdout) == 0 ? code : 70;
}

template <class T>
bool number(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() && out >= T{};
}

/// The dynamic linker only warns when it cannot preload a library, so look whether it did.
bool preloaded() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("libhaltpoll_preload.so") != std::string::npos) return true;
  return false;
}

/// Empty, or what is wrong with the arguments.
std::string parse(int argc, char** argv, bench::job& j) {
  for (int i = 2; i < argc; i += 2) {
    const std::string_view key = argv[i];
    if (i + 1 == argc) return std::string(key) + " has no value";
    const std::string_view value = argv[i + 1];
    bool good = true;
    if (key == "--ops") {
      good = number(value, j.ops);
    } else if (key == "--cpu-a") {
      good = number(value, j.cpu_a);
    } else if (key == "--cpu-b") {
      good = number(value, j.cpu_b);
    } else if (key == "--variant") {
      j.variant = value;
    } else {
      return "unknown option \"" + std::string(key) + "\"";
    }
    if (!good) return std::string(key) + " \"" + argv[i + 1] + "\" is not a number of 0 or more";
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2)
    return say("usage: haltpoll-worker WORKLOAD --ops N --cpu-a A --cpu-b B [--variant V]",
               exit_usage);
  bench::job j;
  if (const std::string problem = parse(argc, argv, j); !problem.empty())
    return say(problem, exit_usage);
  ::signal(SIGPIPE, SIG_IGN);  // a peer that died shall show as an error, not end us silently
  bench::outcome o = bench::measure(argv[1], j);
  if (auto* s = std::get_if<bench::sample>(&o)) s->preloaded = preloaded();
  return say(o, std::holds_alternative<bench::sample>(o) ? 0 : 70);
}
