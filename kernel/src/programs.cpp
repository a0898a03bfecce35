#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <haltpoll/core/spec.hpp>
#include <haltpoll/kernel/programs.hpp>
#include <haltpoll/kernel/running.hpp>
#include <optional>

#include "poll.skel.h"

namespace haltpoll::kernel {
namespace {

/// libbpf's messages while one object is loaded; it knows one sink per process only.
std::string* sink = nullptr;

int collect(libbpf_print_level level, const char* format, va_list arguments) {
  if (level == LIBBPF_DEBUG || sink == nullptr) return 0;
  char text[16384];
  std::vsnprintf(text, sizeof text, format, arguments);
  *sink += text;
  return 0;
}

class collected {
 public:
  explicit collected(std::string& to) : before_(libbpf_set_print(collect)) { sink = &to; }
  ~collected() {
    sink = nullptr;
    libbpf_set_print(before_);
  }
  collected(const collected&) = delete;
  collected& operator=(const collected&) = delete;

 private:
  libbpf_print_fn_t before_;
};

/// Byte offset of a member; into anonymous structs and unions as the compiler looks (they nest a few deep at most).
std::optional<u32> offset_of(const btf* types, __u32 type, const char* name, int depth = 4) {
  const btf_type* t = btf__type_by_id(types, type);
  while (t != nullptr && (btf_is_mod(t) || btf_is_typedef(t))) t = btf__type_by_id(types, t->type);
  if (t == nullptr || !btf_is_composite(t) || depth == 0) return std::nullopt;
  const btf_member* m = btf_members(t);
  for (__u32 i = 0; i < btf_vlen(t); ++i) {
    const u32 at = btf_member_bit_offset(t, i) / 8;
    const std::string_view member = btf__name_by_offset(types, m[i].name_off);
    if (member == name) return at;
    if (!member.empty()) continue;
    if (const auto inner = offset_of(types, m[i].type, name, depth - 1)) return at + *inner;
  }
  return std::nullopt;
}

struct task_offsets {
  u32 flags, pid, nvcsw, nivcsw;
};

/// 0 or -errno: -ENOENT where the kernel keeps no thread_info in its tasks.
int find_offsets(task_offsets& o) {
  btf* types = btf__load_vmlinux_btf();
  if (types == nullptr) return -errno;
  const auto in = [types](const char* type, const char* member, u32& to) {
    const int id = btf__find_by_name_kind(types, type, BTF_KIND_STRUCT);
    const auto at = id < 0 ? std::nullopt : offset_of(types, static_cast<__u32>(id), member);
    if (at) to += *at;
    return at.has_value();
  };
  o = {};
  const bool found = in("task_struct", "thread_info", o.flags) &&
                     in("thread_info", "flags", o.flags) && in("task_struct", "pid", o.pid) &&
                     in("task_struct", "nvcsw", o.nvcsw) && in("task_struct", "nivcsw", o.nivcsw);
  btf__free(types);
  return found ? 0 : -ENOENT;
}

/// The verifier says what it minds in the line before its summary.
std::string last_complaint(const std::string& text) {
  std::string before, found;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("processed ")) found = before;
    if (!line.empty() && !line.starts_with("--")) before = line;
  }
  return found.empty() ? before : found;
}

class bpf_object_programs final : public programs {
 public:
  ~bpf_object_programs() override { poll__destroy(object_); }

  int load(hook h) override {
    std::string text;
    const collected messages(text);
    const int code = load_object(h);
    if (code != 0) log_ = last_complaint(text);
    return code;
  }

  int attach(place p) override {
    std::string text;
    const collected messages(text);
    bpf_program* program = program_at(p);
    bpf_link* link = bpf_program__attach(program);
    if (link == nullptr) {
      log_ = last_complaint(text);
      return -errno;
    }
    *link_at(p) = link;
    return 0;
  }

  void detach() override { poll__detach(object_); }
  std::string log() const override { return log_; }
  control& settings() override { return *static_cast<control*>(settings_.data()); }
  std::span<cpu_record> cpus() override {
    return {static_cast<cpu_record*>(cpus_.data()), cpus_.entries()};
  }

  int pin(const std::string& directory) override {
    if (::mkdir(directory.c_str(), 0700) != 0) return -errno;
    const std::string control_path = directory + "/control", cpus_path = directory + "/cpus";
    int code =
        bpf_obj_pin(bpf_map__fd(object_->maps.settings), control_path.c_str()) < 0 ? -errno : 0;
    if (code == 0 && bpf_obj_pin(bpf_map__fd(object_->maps.cpus), cpus_path.c_str()) < 0) {
      code = -errno;
      ::unlink(control_path.c_str());
    }
    if (code != 0) ::rmdir(directory.c_str());
    return code;
  }

 private:
  int load_object(hook h) {
    object_ = poll__open();
    if (object_ == nullptr) return -errno;
    task_offsets at{};
    if (const int code = find_offsets(at); code != 0) return code;
    object_->rodata->flags_offset = at.flags;
    object_->rodata->pid_offset = at.pid;
    object_->rodata->nvcsw_offset = at.nvcsw;
    object_->rodata->nivcsw_offset = at.nivcsw;
    object_->rodata->hard_cap_ns = core::spec::hard_cap_ns;
    hook_ = h;
    bpf_program__set_autoload(object_->progs.idle_enter_exit, h == hook::fexit);
    bpf_program__set_autoload(object_->progs.idle_enter_entry, h == hook::fentry);
    const int possible = libbpf_num_possible_cpus();
    if (possible < 0) return possible;
    const auto count = static_cast<__u32>(possible);
    if (const int code = bpf_map__set_max_entries(object_->maps.cpus, count); code != 0)
      return code;
    if (const int code = poll__load(object_); code != 0) return code;
    settings_ = mapped_array(::dup(bpf_map__fd(object_->maps.settings)), sizeof(control), 1);
    cpus_ = mapped_array(::dup(bpf_map__fd(object_->maps.cpus)), sizeof(cpu_record), count);
    if (settings_.data() == nullptr || cpus_.data() == nullptr) return -errno;
    new (settings_.data()) control{};
    return 0;
  }

  bpf_program* program_at(place p) const {
    switch (p) {
      case place::entry:
        return hook_ == hook::fexit ? object_->progs.idle_enter_exit
                                    : object_->progs.idle_enter_entry;
      case place::inner: return object_->progs.idle_again;
      case place::exit: return object_->progs.idle_exit;
      case place::elided_interrupt: return object_->progs.woken_without_interrupt;
    }
    return nullptr;
  }

  bpf_link** link_at(place p) const {
    switch (p) {
      case place::entry:
        return hook_ == hook::fexit ? &object_->links.idle_enter_exit
                                    : &object_->links.idle_enter_entry;
      case place::inner: return &object_->links.idle_again;
      case place::exit: return &object_->links.idle_exit;
      case place::elided_interrupt: return &object_->links.woken_without_interrupt;
    }
    return nullptr;
  }

  poll* object_ = nullptr;
  hook hook_ = hook::fexit;
  mapped_array settings_, cpus_;
  std::string log_;
};

}  // namespace

const char* name_of(place p) {
  switch (p) {
    case place::entry: return "tick_nohz_idle_enter";
    case place::inner: return "arch_cpu_idle_exit";
    case place::exit: return "tick_nohz_idle_exit";
    case place::elided_interrupt: return "sched_wake_idle_without_ipi";
  }
  return "";
}

std::unique_ptr<programs> bpf_programs() { return std::make_unique<bpf_object_programs>(); }

}  // namespace haltpoll::kernel
