// Polls at the entry of the kernel's idle loop. Interrupts are on and the idle task's polling flag is set there
// (kernel/sched/idle.c, 6.1 to 7.3), so a waker only stores NEED_RESCHED: no interrupt is sent.
//
// Once per pass to idle:   tick_nohz_idle_enter  opens the period, polls (fexit: the polled time counts as idle in /proc/stat,
//                                                which begins inside that function; fentry where fexit does not attach)
// After every halt:        arch_cpu_idle_exit    an interrupt ended the halt and no task arrived: polls again, as the kernel's
//                                                haltpoll does
// Once per pass to idle:   tick_nohz_idle_exit   closes the period
//
// Nothing here may sleep, take a lock or use a map that does: idle runs with preemption off, on PREEMPT_RT too. The programs run on
// one CPU each and do not nest (their functions are called by the idle task alone, and the kernel guards against recursion).
#include <haltpoll/kernel/maps.hpp>
#define SEC(name) __attribute__((section(name), used))
using namespace haltpoll;
using namespace haltpoll::kernel;
typedef unsigned int __u32;  // the names the skeleton knows
typedef unsigned long long __u64;

struct task_struct;  // opaque: the loader takes the offsets from BTF
static void* (*bpf_map_lookup_elem)(void* map, const void* key) =
    reinterpret_cast<decltype(bpf_map_lookup_elem)>(1);
static u64 (*bpf_ktime_get_ns)() = reinterpret_cast<decltype(bpf_ktime_get_ns)>(5);
static u32 (*bpf_get_smp_processor_id)() = reinterpret_cast<decltype(bpf_get_smp_processor_id)>(8);
static task_struct* (*bpf_get_current_task_btf)() =
    reinterpret_cast<decltype(bpf_get_current_task_btf)>(158);
static long (*bpf_loop)(u32 turns, void* turn, void* data,
                        u64 flags) = reinterpret_cast<decltype(bpf_loop)>(181);

extern "C" {
SEC("license") char LICENSE[] = "Dual BSD/GPL";

// Offsets in task_struct.
volatile const __u32 flags_offset = 0;
volatile const __u32 pid_offset = 0;
volatile const __u32 nvcsw_offset = 0;
volatile const __u32 nivcsw_offset = 0;
volatile const __u64 hard_cap_ns = 0;

constexpr __u32 map_type_array = 2, map_mmapable = 1 << 10;
struct {
  int (*type)[map_type_array];
  int (*map_flags)[map_mmapable];
  int (*max_entries)[1];  // the loader: possible CPUs
  __u32* key;
  cpu_record* value;
} cpus SEC(".maps");

struct {
  int (*type)[map_type_array];
  int (*map_flags)[map_mmapable];
  int (*max_entries)[1];
  __u32* key;
  struct control* value;
} settings SEC(".maps");

__u32 pollers = 0;  // CPUs inside a poll; kept only while max_pollers is set
}

namespace {

template <class T>
[[gnu::always_inline]] T read(task_struct* task, u32 offset) {
  return *reinterpret_cast<volatile T*>(reinterpret_cast<char*>(task) + offset);
}

[[gnu::always_inline]] u64 flags_of(task_struct* task) {
  return read<unsigned long>(task, flags_offset);
}

[[gnu::always_inline]] cpu_record* record_of(u32 cpu) {
  return static_cast<cpu_record*>(bpf_map_lookup_elem(&cpus, &cpu));
}

[[gnu::always_inline]] struct control* settings_in_force() {
  const u32 zero = 0;
  return static_cast<struct control*>(bpf_map_lookup_elem(&settings, &zero));
}

/// The record of the CPU whose idle task this is; null in play_idle(), a thread that shall cool the CPU.
[[gnu::always_inline]] cpu_record* record_of_idle(task_struct* task) {
  return read<int>(task, pid_offset) != 0 ? nullptr : record_of(bpf_get_smp_processor_id());
}

/// How often the task was switched out.
[[gnu::always_inline]] u64 switches_of(task_struct* task) {
  return read<unsigned long>(task, nvcsw_offset) + read<unsigned long>(task, nivcsw_offset);
}

struct poll {
  u64 deadline_ns;
  u64 mask;
};

long turn(u32 i, void* data) {
  const auto* p = static_cast<poll*>(data);
  // Read again on every turn: volatile, or the compiler hoists the load out of what it takes for a loop.
  if ((flags_of(bpf_get_current_task_btf()) & p->mask) != 0) return 1;
  return i % turns_per_clock_read == 0 && bpf_ktime_get_ns() >= p->deadline_ns;
}

/// Is polling within the CPU's share of time?
[[gnu::always_inline]] bool share_left(const struct control* c, cpu_record* r, u64 now_ns) {
  const u32 percent = c->max_polled_percent;
  if (percent == 0) return true;
  if (now_ns - r->share_since_ns >= share_span_ns) {
    r->share_since_ns = now_ns;
    r->share_polled_ns = 0;
  }
  if (r->share_polled_ns < share_span_ns / 100 * percent) return true;
  ++r->refused_share;
  return false;
}

/// Decides the window of what now begins and polls it. `now_ns` is the time of the hook.
[[gnu::always_inline]] void poll_before_halt(const struct control* c, cpu_record* r, u64 now_ns) {
  r->last_polled_ns = 0;
  r->last_timed_out = 0;
  r->ended_by_hit = 0;
  r->poll_ended_ns = now_ns;
  const core::decision d = core::any::select(c->governor, r->governor, {});
  u64 window_ns = d.state == core::poll_state ? d.window_ns : 0;
  if ((r->guards & guard::excluded) != 0) window_ns = 0;
  if (window_ns > r->window_cap_ns) window_ns = r->window_cap_ns;
  if (window_ns > hard_cap_ns) window_ns = hard_cap_ns;
  r->window_ns = window_ns;
  if (window_ns == 0 || !share_left(c, r, now_ns)) return;
  const u32 max_pollers = c->max_pollers;
  if (max_pollers != 0 && __sync_fetch_and_add(&pollers, 1) >= max_pollers) {
    __sync_fetch_and_add(&pollers, -1);
    ++r->refused_pollers;
    return;
  }
  poll p{now_ns + window_ns, c->need_resched};
  ++r->polls;
  bpf_loop(max_turns, reinterpret_cast<void*>(turn), &p, 0);
  const u64 end_ns = bpf_ktime_get_ns();
  if (max_pollers != 0) __sync_fetch_and_add(&pollers, -1);
  r->poll_ended_ns = end_ns;
  r->last_polled_ns = end_ns - now_ns;
  r->polled_ns += end_ns - now_ns;
  r->share_polled_ns += end_ns - now_ns;
  if ((flags_of(bpf_get_current_task_btf()) & p.mask) != 0) {
    ++r->hits;
    r->ended_by_hit = 1;
  } else {
    ++r->misses;
    r->last_timed_out = 1;
  }
}

/// Tells the governor what came of the poll and of the halt that followed, which ended at `now_ns`.
[[gnu::always_inline]] void learn(const struct control* c, cpu_record* r, u64 now_ns) {
  core::outcome o;
  o.polled_ns = r->last_polled_ns;
  o.timed_out = r->last_timed_out != 0;
  if (r->ended_by_hit != 0) {
    o.state = core::poll_state;
  } else {
    o.block_ns = now_ns - r->poll_ended_ns;
    ++r->halts;
  }
  core::any::reflect(c->governor, r->governor, o);
}

[[gnu::always_inline]] void enter_idle() {
  const struct control* c = settings_in_force();
  if (c == nullptr || (c->enabled | c->calibrating) == 0) return;
  task_struct* task = bpf_get_current_task_btf();
  cpu_record* r = record_of_idle(task);
  if (r == nullptr) return;
  const u64 flags = flags_of(task);
  if (c->calibrating != 0) {
    r->entry_flags &= flags;
    ++r->entries;
  }
  const u64 mask = c->need_resched;
  if (c->enabled == 0 || mask == 0) return;
  if (r->ended_by_hit != 0 && r->entered_ns == 0 && r->switches == switches_of(task))
    ++r->hits_without_task;
  if ((flags & mask) != 0) {
    r->entered_ns = 0;
    r->ended_by_hit = 0;
    ++r->pending;
    return;
  }
  const u64 now_ns = bpf_ktime_get_ns();
  r->entered_ns = now_ns;
  poll_before_halt(c, r, now_ns);
}

}  // namespace

extern "C" {

SEC("fexit/tick_nohz_idle_enter") int idle_enter_exit(u64* ctx) {
  (void)ctx;
  enter_idle();
  return 0;
}

SEC("fentry/tick_nohz_idle_enter") int idle_enter_entry(u64* ctx) {
  (void)ctx;
  enter_idle();
  return 0;
}

SEC("fentry/arch_cpu_idle_exit") int idle_again(u64* ctx) {
  (void)ctx;
  const struct control* c = settings_in_force();
  if (c == nullptr || c->enabled == 0) return 0;
  const u64 mask = c->need_resched;
  task_struct* task = bpf_get_current_task_btf();
  if (mask == 0 || (flags_of(task) & mask) != 0) return 0;
  cpu_record* r = record_of_idle(task);
  if (r == nullptr || r->entered_ns == 0) return 0;
  const u64 now_ns = bpf_ktime_get_ns();
  learn(c, r, now_ns);
  poll_before_halt(c, r, now_ns);
  return 0;
}

SEC("fentry/tick_nohz_idle_exit") int idle_exit(u64* ctx) {
  (void)ctx;
  const struct control* c = settings_in_force();
  if (c == nullptr || (c->enabled | c->calibrating) == 0) return 0;
  task_struct* task = bpf_get_current_task_btf();
  cpu_record* r = record_of_idle(task);
  if (r == nullptr) return 0;
  if (c->calibrating != 0) {
    r->exit_flags &= flags_of(task);
    ++r->exits;
  }
  if (c->enabled == 0 || r->entered_ns == 0) return 0;
  const u64 now_ns = bpf_ktime_get_ns();
  learn(c, r, now_ns);
  ++r->periods;
  r->idle_ns += now_ns - r->entered_ns;
  core::count(r->idle, now_ns - r->entered_ns);
  r->entered_ns = 0;
  r->switches = switches_of(task);
  return 0;
}

// Fires on the waker's CPU when NEED_RESCHED was set and the polling flag made the interrupt unnecessary: the measure of success.
SEC("raw_tp/sched_wake_idle_without_ipi") int woken_without_interrupt(u64* ctx) {
  const struct control* c = settings_in_force();
  if (c == nullptr || (c->enabled | c->calibrating) == 0) return 0;
  cpu_record* r = record_of(static_cast<u32>(ctx[0]));
  if (r != nullptr) __sync_fetch_and_add(&r->wakes_without_interrupt, 1);
  return 0;
}
}
