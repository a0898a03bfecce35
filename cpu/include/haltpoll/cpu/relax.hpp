#pragma once
// relax: tells the CPU that this is a polling loop.
namespace haltpoll::cpu {

/// One turn of a polling loop: PAUSE on x86-64 (about 40 cycles on Zen, 140 since Skylake), YIELD
/// on arm64 (a few cycles, often a no-op). Count time, never turns.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#else
#error "haltpoll: no relax instruction known for this architecture"
#endif
}

}  // namespace haltpoll::cpu
