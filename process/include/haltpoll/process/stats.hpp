#pragma once
// stats: what the preload library counts, in a page that several processes share.
//
// The page is a file (in practice a memfd of whoever wants to know) named by HALTPOLL_STATS and
// mapped by every process under the library. Counters are spread over slots by thread id so that
// two threads seldom write one cache line; every counter is a relaxed atomic add, readers sum the
// slots and see a value that was true a moment ago.
#include <atomic>
#include <haltpoll/core/types.hpp>

namespace haltpoll::process {

using core::u32;
using core::u64;

/// Counters of one slot; all only ever rise. Times in ns.
struct alignas(64) stats_slot {
  std::atomic<u64> polls;       ///< polls begun
  std::atomic<u64> hits;        ///< polls that found what they waited for
  std::atomic<u64> polled_ns;   ///< time polled, hits and misses
  std::atomic<u64> blocks;      ///< blocking calls made, after a miss or because no poll paid
  std::atomic<u64> block_ns;    ///< time in those calls
  std::atomic<u64> contended;   ///< polls given up because somebody else needed this CPU
  std::atomic<u64> backed_off;  ///< calls passed straight through because of that; not in `blocks`
};

struct stats_page {
  static constexpr u32 slots = 64;
  stats_slot slot[slots];  ///< a thread uses slot (tid % slots)
};
static_assert(std::atomic<u64>::is_always_lock_free, "the page is shared between processes");

/// Sum over all slots.
struct stats_totals {
  u64 polls, hits, polled_ns, blocks, block_ns, contended, backed_off;
};

inline stats_totals sum(const stats_page& page) {
  stats_totals t{};
  for (const stats_slot& s : page.slot) {
    constexpr auto relaxed = std::memory_order_relaxed;
    t.polls += s.polls.load(relaxed);
    t.hits += s.hits.load(relaxed);
    t.polled_ns += s.polled_ns.load(relaxed);
    t.blocks += s.blocks.load(relaxed);
    t.block_ns += s.block_ns.load(relaxed);
    t.contended += s.contended.load(relaxed);
    t.backed_off += s.backed_off.load(relaxed);
  }
  return t;
}

}  // namespace haltpoll::process
