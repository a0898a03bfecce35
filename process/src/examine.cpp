// examine: can a library be preloaded into this command? Follows what execvp and the kernel would
// do with it.
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <haltpoll/process/launch.hpp>
#include <optional>

#include "elf.hpp"

namespace haltpoll::process {
namespace {

constexpr int usage = 64, not_possible = 69, not_permitted = 77;

verdict refuse(int code, std::string problem, std::string hint) {
  return {std::move(problem), std::move(hint), code};
}

bool runnable_file(const std::string& path) {
  struct stat s;
  return stat(path.c_str(), &s) == 0 && S_ISREG(s.st_mode) && access(path.c_str(), X_OK) == 0;
}

/// As execvp: the first executable file; failing that the first file at all, so that its problem
/// can be named.
std::optional<std::string> look_up(const std::string& command) {
  if (command.empty()) return {};
  if (command.find('/') != std::string::npos) return command;
  const char* variable = getenv("PATH");
  const std::string path = variable != nullptr ? variable : "/bin:/usr/bin";
  std::optional<std::string> found;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const std::string directory = path.substr(at, end - at);
    const std::string file = (directory.empty() ? "." : directory) + "/" + command;
    if (runnable_file(file)) return file;
    if (!found && access(file.c_str(), F_OK) == 0) found = file;
    at = end + 1;
  }
  return found;
}

class opened {
 public:
  explicit opened(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~opened() {
    if (fd_ >= 0) close(fd_);
  }
  opened(const opened&) = delete;
  opened& operator=(const opened&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

/// Whether the kernel will make the program's loader distrust the environment (AT_SECURE).
bool set_id(const struct stat& s, const opened& file) {
  struct statvfs mount;
  if (fstatvfs(file.fd(), &mount) == 0 && (mount.f_flag & ST_NOSUID) != 0) return false;
  return ((s.st_mode & S_ISUID) != 0 && s.st_uid != getuid()) ||
         ((s.st_mode & S_ISGID) != 0 && (s.st_mode & S_IXGRP) != 0 && s.st_gid != getgid());
}
bool has_capabilities(const opened& file) {
  return getuid() != 0 && fgetxattr(file.fd(), "security.capability", nullptr, 0) > 0;
}

struct interpreter {
  std::string path;
  std::string argument;  ///< the rest of the line, one argument to the kernel
};

/// The kernel's reading of "#!" (fs/binfmt_script.c): within the first 256 bytes, blanks around the
/// path.
std::optional<interpreter> script_interpreter(const opened& file) {
  std::array<char, 256> buffer{};
  const ssize_t n = pread(file.fd(), buffer.data(), buffer.size(), 0);
  if (n < 3 || buffer[0] != '#' || buffer[1] != '!') return {};
  std::string line(buffer.data() + 2, static_cast<std::size_t>(n) - 2);
  if (const auto end = line.find_first_of(std::string_view("\n\0", 2)); end != std::string::npos)
    line.resize(end);
  const auto start = line.find_first_not_of(" \t");
  if (start == std::string::npos) return {};
  const auto end = line.find_first_of(" \t", start);
  interpreter found{line.substr(start, end - start), ""};
  if (end == std::string::npos) return found;
  if (const auto argument = line.find_first_not_of(" \t", end); argument != std::string::npos)
    found.argument = line.substr(argument, line.find_last_not_of(" \t") + 1 - argument);
  return found;
}

verdict examine_elf(const std::string& path, const elf_facts& elf) {
  const std::string kernel_backend = "the kernel backend (`haltpoll start`) covers every program";
  if (elf.machine != own_machine())
    return refuse(not_possible,
                  path + " is a program for " + machine_name(elf.machine) + ", not for " +
                      machine_name(own_machine()),
                  kernel_backend);
  if (elf.elf_class != ELFCLASS64)
    return refuse(not_possible, path + " is a 32-bit program", kernel_backend);
  if (elf.go)
    return refuse(not_possible, path + " is a Go program, which makes system calls without libc",
                  kernel_backend);
  if (elf.interpreter.empty())
    return refuse(not_possible, path + " is statically linked, so nothing can be preloaded into it",
                  kernel_backend);
  if (elf.interpreter.find("/ld-musl-") != std::string::npos)
    return refuse(
        not_possible, path + " is linked with musl; the library to preload is built for glibc",
        "build haltpoll in that distribution, or use the kernel backend (`haltpoll start`)");
  return {};
}

verdict examine_file(const std::string& path, int depth) {
  struct stat s;
  if (stat(path.c_str(), &s) != 0) return refuse(usage, path + ": no such file", "");
  if (S_ISDIR(s.st_mode)) return refuse(not_permitted, path + " is a directory", "");
  if (!runnable_file(path))
    return refuse(not_permitted, path + " is not executable", "chmod +x, or name its interpreter");
  const opened file(path);
  // Executable but not readable: the kernel runs it, we cannot look.
  if (file.fd() < 0)
    return refuse(not_permitted, path + " cannot be read",
                  "haltpoll run must be able to look at it first");

  if (const auto script = script_interpreter(file)) {
    if (depth == 0) return refuse(not_possible, path + " has too many interpreters in a row", "");
    verdict v = examine_file(script->path, depth - 1);
    // env runs another program by PATH. What it is follows from a plain word only.
    const bool env = script->path.ends_with("/env");
    if (v.problem.empty() && env && !script->argument.empty() &&
        script->argument.find_first_of(" \t=-") == std::string::npos) {
      if (const auto target = look_up(script->argument)) v = examine_file(*target, depth - 1);
    }
    if (!v.problem.empty()) v.problem = path + " is a script: " + v.problem;
    return v;
  }
  const auto elf = read_elf([&](std::uint64_t offset, void* buffer, std::size_t size) {
    if (offset > INT64_MAX) return false;
    return pread(file.fd(), buffer, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
  });
  // Neither ELF nor #!: execvp gives it to the shell.
  if (!elf)
    return depth == 0 ? refuse(not_possible, path + " is no program", "")
                      : examine_file("/bin/sh", 0);
  // Set-id bits mean something on ELF files only: the kernel ignores them on scripts.
  if (set_id(s, file))
    return refuse(not_permitted,
                  path + " is set-user-ID or set-group-ID: its loader ignores LD_PRELOAD",
                  "run it as its owner, or use the kernel backend (`haltpoll start`)");
  if (has_capabilities(file))
    return refuse(not_permitted, path + " has file capabilities: its loader ignores LD_PRELOAD",
                  "run it as root, or use the kernel backend (`haltpoll start`)");
  return examine_elf(path, *elf);
}

}  // namespace

verdict examine(const std::string& command) {
  // The kernel follows five interpreters (fs/exec.c).
  constexpr int most_interpreters = 5;
  const auto path = look_up(command);
  if (!path) return refuse(usage, command + ": command not found", "");
  return examine_file(*path, most_interpreters);
}

}  // namespace haltpoll::process
