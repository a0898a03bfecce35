#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <haltpoll/process/launch.hpp>
#include <new>

namespace haltpoll::process {
namespace {

constexpr const char* library_name = "libhaltpoll_preload.so";

/// From the directory of the program to the library: beside it, installed, and in the build tree.
constexpr const char* places[] = {".", "../" HALTPOLL_LIBDIR "/haltpoll", "../process"};

std::string own_directory() {
  std::array<char, PATH_MAX> path{};
  const ssize_t n = readlink("/proc/self/exe", path.data(), path.size());
  if (n <= 0) return {};
  const std::string file(path.data(), static_cast<std::size_t>(n));
  return file.substr(0, file.rfind('/'));
}

/// The full path of a library that LD_PRELOAD can name, else empty. ld.so(8): the list is split at
/// colons and spaces, and there is no way to quote them.
std::string usable(const std::string& path, std::vector<std::string>* looked_at) {
  std::array<char, PATH_MAX> full{};
  const bool there =
      access(path.c_str(), R_OK) == 0 && realpath(path.c_str(), full.data()) != nullptr;
  const std::string resolved = full.data();
  const bool splits = resolved.find_first_of(": ") != std::string::npos;
  if (looked_at != nullptr)
    looked_at->push_back(path +
                         (splits ? " (LD_PRELOAD cannot name a path with a space or colon)" : ""));
  return there && !splits ? resolved : std::string();
}

}  // namespace

std::string preload_library(std::vector<std::string>* looked_at) {
  if (const char* given = getenv("HALTPOLL_PRELOAD_LIBRARY"); given != nullptr)
    return usable(given, looked_at);
  const std::string directory = own_directory();
  for (const char* place : places)
    if (std::string found = usable(directory + "/" + place + "/" + library_name, looked_at);
        !found.empty())
      return found;
  return {};
}

stats_memory::stats_memory() : fd_(memfd_create("haltpoll-stats", MFD_CLOEXEC)) {
  if (fd_ < 0 || ftruncate(fd_, sizeof(stats_page)) != 0) return;
  void* memory = mmap(nullptr, sizeof(stats_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (memory != MAP_FAILED) page_ = new (memory) stats_page{};
}

stats_memory::~stats_memory() {
  if (page_ != nullptr) munmap(page_, sizeof(stats_page));
  if (fd_ >= 0) close(fd_);
}

std::string stats_memory::path() const {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd_);
}

std::vector<std::string> preload_environment(const std::string& library, const std::string& spec,
                                             const std::string& stats_path) {
  const char* before = getenv("LD_PRELOAD");
  std::string list = library;
  if (before != nullptr && before[0] != '\0') list += ":" + std::string(before);
  std::vector<std::string> added = {"LD_PRELOAD=" + list, "HALTPOLL_GOVERNOR=" + spec};
  if (!stats_path.empty()) added.push_back("HALTPOLL_STATS=" + stats_path);
  return added;
}

}  // namespace haltpoll::process
