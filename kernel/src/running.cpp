#include <bpf/bpf.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

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
  mapped_array a(fd, value_size, info.max_entries);
  if (a.data() == nullptr) return refusal{70, path + ": mmap: " + std::strerror(errno), "", ""};
  return a;
}

/// A word that others write meanwhile.
u64 load(const u64& word) { return __atomic_load_n(&word, __ATOMIC_RELAXED); }

}  // namespace

mapped_array::mapped_array(int fd, std::size_t value_size, std::size_t entries)
    : bytes_(bytes_of(value_size, entries)), entries_(entries), fd_(fd) {
  at_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
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

/// A process that is gone or a zombie: dead, with its undo process still at work.
static bool dead(int pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(in, line);
  const auto name_end = line.rfind(") ");  // the name before it may hold anything
  return name_end == std::string::npos || line.at(name_end + 2) == 'Z' ||
         line.at(name_end + 2) == 'X';
}

std::optional<int> daemon_pid(const std::string& lock) {
  if (!lock_held(lock)) return std::nullopt;
  std::ifstream in(lock);
  int pid = 0;
  if (!(in >> pid) || pid <= 0) return std::nullopt;
  if (dead(pid)) return std::nullopt;
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
    t.periods += load(r.periods);
    t.polls += load(r.polls);
    t.hits += load(r.hits);
    t.misses += load(r.misses);
    t.hits_without_task += load(r.hits_without_task);
    t.pending += load(r.pending);
    t.halts += load(r.halts);
    t.polled_ns += load(r.polled_ns);
    t.idle_ns += load(r.idle_ns);
    t.wakes_without_interrupt += load(r.wakes_without_interrupt);
  }
  return t;
}

void store(control& c, const core::any::params& governor) {
  // Words as large as the largest field, so that none is torn. From the last to the first, which holds `which`: the parameters it
  // selects are in place by then.
  using word [[gnu::may_alias]] = u64;
  static_assert(alignof(core::any::params) == alignof(word) &&
                sizeof(core::any::params) % sizeof(word) == 0 &&
                offsetof(core::any::params, which) == 0);
  const auto* from = reinterpret_cast<const word*>(&governor);
  auto* to = reinterpret_cast<word*>(&c.governor);
  for (std::size_t i = sizeof governor / sizeof(word); i-- > 0;)
    __atomic_store_n(&to[i], from[i], __ATOMIC_RELEASE);
}

}  // namespace haltpoll::kernel
