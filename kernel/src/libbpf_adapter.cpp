#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <unistd.h>

#include <cerrno>
#include <haltpoll/kernel/probe.hpp>
#include <iterator>

namespace haltpoll::kernel {
namespace {

int silent(libbpf_print_level, const char*, va_list) { return 0; }

bpf_attach_type attach_type_of(hook h) {
  return h == hook::fexit ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY;
}

int or_errno(int result) { return result < 0 ? -errno : result; }

class libbpf final : public bpf_adapter {
 public:
  libbpf() { libbpf_set_print(silent); }

  int find(hook h, const char* function) override {
    return libbpf_find_vmlinux_btf_id(function, attach_type_of(h));
  }

  int load(hook h, int btf_id) override {
    bpf_prog_load_opts options{};
    options.sz = sizeof(options);
    options.expected_attach_type = attach_type_of(h);
    options.attach_btf_id = static_cast<__u32>(btf_id);
    return load(BPF_PROG_TYPE_TRACING, &options);
  }

  int load_raw_tracepoint() override { return load(BPF_PROG_TYPE_RAW_TRACEPOINT, nullptr); }

  int attach(int program) override { return or_errno(bpf_raw_tracepoint_open(nullptr, program)); }

  void close(int fd) override { ::close(fd); }

 private:
  static int load(bpf_prog_type type, const bpf_prog_load_opts* options) {
    const bpf_insn return_0[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K,
         .dst_reg = BPF_REG_0,
         .src_reg = 0,
         .off = 0,
         .imm = 0},
        {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
    };
    return or_errno(bpf_prog_load(type, "haltpoll_probe", "Dual BSD/GPL", return_0,
                                  std::size(return_0), options));
  }
};

}  // namespace

std::unique_ptr<bpf_adapter> libbpf_adapter() { return std::make_unique<libbpf>(); }

}  // namespace haltpoll::kernel
