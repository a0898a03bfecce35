// Until the process room is merged: its launch.hpp without a library. Deleted then.
#include <sys/mman.h>
#include <unistd.h>

#include <haltpoll/process/launch.hpp>
#include <new>

namespace haltpoll::process {

std::string preload_library(std::vector<std::string>* looked_at) {
  if (looked_at != nullptr) *looked_at = {"(the process room is not built)"};
  return "";
}

stats_memory::stats_memory() : fd_(::memfd_create("haltpoll-stats", 0)) {
  if (fd_ < 0 || ::ftruncate(fd_, sizeof(stats_page)) != 0) return;
  void* at = ::mmap(nullptr, sizeof(stats_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (at != MAP_FAILED) page_ = static_cast<stats_page*>(at);
}
stats_memory::~stats_memory() {
  if (page_ != nullptr) ::munmap(page_, sizeof(stats_page));
  if (fd_ >= 0) ::close(fd_);
}
std::string stats_memory::path() const {
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd_);
}

std::vector<std::string> preload_environment(const std::string& library, const std::string& spec,
                                             const std::string& stats_path) {
  return {"LD_PRELOAD=" + library, "HALTPOLL_GOVERNOR=" + spec, "HALTPOLL_STATS=" + stats_path};
}

}  // namespace haltpoll::process
