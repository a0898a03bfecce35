#include "disturbance.hpp"

namespace haltpoll::preload {
namespace {
constexpr uint32_t abort_target[2] = {RSEQ_SIG, 0};
constexpr char outside = 0;
}  // namespace

constinit const struct rseq_cs disturbance::nowhere = {
    .version = 0,
    .flags = 0,
    .start_ip = reinterpret_cast<uintptr_t>(&outside),
    .post_commit_offset = 1,
    .abort_ip = reinterpret_cast<uintptr_t>(&abort_target[1]),
};

}  // namespace haltpoll::preload
