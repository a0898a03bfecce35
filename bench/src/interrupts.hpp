#pragma once
// interrupts: those that one CPU sends another to wake it, from /proc/interrupts: rescheduling and function calls.
//
// A count, not a time: the same on a noisy machine as on a quiet one.
#include <haltpoll/core/types.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace haltpoll::bench {

/// Sum over all CPUs of the lines RES and CAL (x86) or the IPI lines of these names (arm64). Nothing where neither is there.
std::optional<core::u64> count_interrupts(std::string_view proc_interrupts);

/// The same of this machine, now.
std::optional<core::u64> interrupts_sent(const std::string& root = "");

}  // namespace haltpoll::bench
