// Any bytes as a golden file of every shape: either an error, or a verdict on every row.
#include "golden.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, unsigned long size) {
  using namespace haltpoll::golden;
  const table t(std::string(reinterpret_cast<const char*>(data), size));
  for (const char* name : {"haltpoll_unit_6.12", "haltpoll_change_6.1", "haltpoll_loop_6.12",
                           "kvm_host", "kvm_host_change"}) {
    const report r = replay(name, t, [](step& s) {
      run(s);
      return true;
    });
    if (r.error.empty() && (r.rows != t.rows() || r.mismatches > r.rows || r.rows == 0))
      __builtin_trap();
  }
  return 0;
}
