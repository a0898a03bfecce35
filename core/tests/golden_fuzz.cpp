// Any bytes as a golden file of every shape: either an error, or a verdict on every row.
#include "golden.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, unsigned long size) {
  using namespace haltpoll::golden;
  const table t(std::string(reinterpret_cast<const char*>(data), size));
  runner natively;
  for (const char* name :
       {"haltpoll_unit_6.12", "haltpoll_change_6.1", "haltpoll_loop_6.12", "kvm_host",
        "kvm_host_change", "menu_6.1_hz250_skx4", "menu_6.12_hz250_deep5", "teo_6.1_hz250_skx4",
        "teo_6.12_hz1000_juno3", "ladder_6.12_hz250_haltpoll2"}) {
    const report r = replay(name, t, natively);
    if (r.error.empty() && (r.rows != t.rows() || r.mismatches > r.rows || r.rows == 0))
      __builtin_trap();
  }
  return 0;
}
