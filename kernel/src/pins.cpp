#include <unistd.h>

#include <cerrno>
#include <haltpoll/kernel/backend.hpp>

namespace haltpoll::kernel {

int unpin(const std::string& directory) {
  int first = 0;
  const auto keep = [&first](int result) {
    if (result != 0 && errno != ENOENT && first == 0) first = -errno;
  };
  keep(::unlink((directory + "/control").c_str()));
  keep(::unlink((directory + "/cpus").c_str()));
  keep(::rmdir(directory.c_str()));
  return first;
}

}  // namespace haltpoll::kernel
