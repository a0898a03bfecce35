#include <bpf/bpf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <haltpoll/kernel/running.hpp>
#include <utility>

namespace haltpoll::kernel {
namespace {

std::size_t bytes_of(std::size_t value_size, std::size_t entries) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (value_size * entries + page - 1) / page * page;
}

/// A pinned array, or why not. `value_size` is what this program was compiled with.
std::variant<mapped_array, refusal> open_array(const std::string& path, std::size_t value_size) {
  const int fd = bpf_obj_get(path.c_str());
  if (fd < 0) {
    const int error = errno;
    if (error == ENOENT)
      return refusal{69, "the kernel backend is not running", path + " is not there",
                     "haltpoll start"};
    if (error == EACCES || error == EPERM)
      return refusal{77, path + ": " + std::strerror(error), "",
                     "reading and changing the backend takes root"};
    return refusal{69, path + ": " + std::strerror(error), "", ""};
  }
  bpf_map_info info{};
  __u32 size = sizeof info;
  if (bpf_obj_get_info_by_fd(fd, &info, &size) != 0 || info.value_size != value_size) {
    ::close(fd);
    return refusal{69, path + " belongs to another version of haltpoll",
                   "its values have " + std::to_string(info.value_size) + " bytes, ours " +
                       std::to_string(value_size),
                   "haltpoll stop, then haltpoll start"};
  }
  mapped_array a(fd, value_size, info.max_entries, true);
  if (a.data() == nullptr) return refusal{70, path + ": mmap: " + std::strerror(errno), "", ""};
  return a;
}

/// A whole struct, one aligned word after the other; a reader in the kernel never sees half a word.
template <class T>
void store_words(T& to, const T& from) {
  static_assert(sizeof(T) % sizeof(u32) == 0 && alignof(T) % alignof(u32) == 0);
  u32 words[sizeof(T) / sizeof(u32)];
  std::memcpy(words, &from, sizeof from);
  auto* at = reinterpret_cast<u32*>(&to);
  for (std::size_t i = 0; i < std::size(words); ++i)
    std::atomic_ref(at[i]).store(words[i], std::memory_order_relaxed);
}

}  // namespace

mapped_array::mapped_array(int fd, std::size_t value_size, std::size_t entries, bool writable)
    : bytes_(bytes_of(value_size, entries)), entries_(entries), fd_(fd) {
  at_ = ::mmap(nullptr, bytes_, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd_, 0);
  if (at_ == MAP_FAILED) at_ = nullptr;
}

mapped_array::mapped_array(mapped_array&& o) noexcept
    : at_(std::exchange(o.at_, nullptr)),
      bytes_(std::exchange(o.bytes_, 0)),
      entries_(std::exchange(o.entries_, 0)),
      fd_(std::exchange(o.fd_, -1)) {}

mapped_array& mapped_array::operator=(mapped_array&& o) noexcept {
  std::swap(at_, o.at_);
  std::swap(bytes_, o.bytes_);
  std::swap(entries_, o.entries_);
  std::swap(fd_, o.fd_);
  return *this;
}

mapped_array::~mapped_array() {
  if (at_ != nullptr) ::munmap(at_, bytes_);
  if (fd_ >= 0) ::close(fd_);
}

bool lock_held(const std::string& lock) {
  const int fd = ::open(lock.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  // Shared: two that ask at once do not take each other for the daemon, which holds it exclusively.
  const bool held = ::flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(fd);
  return held;
}

std::optional<int> daemon_pid(const std::string& lock) {
  if (!lock_held(lock)) return std::nullopt;
  std::ifstream in(lock);
  int pid = 0;
  if (!(in >> pid) || pid <= 0) return std::nullopt;
  // Killed, with its undo process still at work.
  if (::kill(pid, 0) != 0 && errno == ESRCH) return std::nullopt;
  return pid;
}

std::variant<running, refusal> running::open(const std::string& directory) {
  running r;
  auto settings = open_array(directory + "/control", sizeof(control));
  if (auto* no = std::get_if<refusal>(&settings)) return *no;
  auto cpus = open_array(directory + "/cpus", sizeof(cpu_record));
  if (auto* no = std::get_if<refusal>(&cpus)) return *no;
  r.control_ = std::move(std::get<mapped_array>(settings));
  r.cpus_ = std::move(std::get<mapped_array>(cpus));
  if (r.settings().version != maps_version)
    return refusal{69, directory + " belongs to another version of haltpoll",
                   "maps of version " + std::to_string(r.settings().version) + ", ours " +
                       std::to_string(maps_version),
                   "haltpoll stop, then haltpoll start"};
  return r;
}

totals sum(std::span<const cpu_record> cpus) {
  totals t;
  for (const cpu_record& r : cpus) {
    t.periods += r.periods;
    t.polls += r.polls;
    t.hits += r.hits;
    t.misses += r.misses;
    t.hits_without_task += r.hits_without_task;
    t.pending += r.pending;
    t.halts += r.halts;
    t.polled_ns += r.polled_ns;
    t.idle_ns += r.idle_ns;
    t.wakes_without_interrupt += r.wakes_without_interrupt;
  }
  return t;
}

void store(control& c, const core::any::params& governor) {
  // `which` last: the parameters it selects are in place by then (on x86; on arm64 a program may see it first, and then decides
  // one window by the old parameters of the new governor).
  core::any::params first = governor;
  first.which = c.governor.which;
  store_words(c.governor, first);
  std::atomic_ref(c.governor.which).store(governor.which, std::memory_order_release);
}

}  // namespace haltpoll::kernel
