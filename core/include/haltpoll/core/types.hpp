#pragma once
namespace haltpoll::core {  // no standard header: this file is compiled for BPF and for bare metal
                            // too

using u8 = unsigned char;
using u32 = unsigned int;
using u64 = unsigned long long;
using s64 = long long;

/// "No limit" wherever a u64 of nanoseconds is a limit or a deadline.
inline constexpr u64 never = ~0ULL;

}  // namespace haltpoll::core
