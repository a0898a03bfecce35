#pragma once
// refusal: why something was not done, for whoever prints it.
#include <string>

namespace haltpoll::kernel {

struct refusal {
  int exit_code = 69;  ///< of the contract: 69 not possible here, 77 not permitted, 70 internal
  std::string what;    ///< one line: what is refused, where, with which errno or limit
  std::string detail;  ///< one line: the true cause, where it is known; else empty
  std::string hint;    ///< what to do; else empty
};

}  // namespace haltpoll::kernel
