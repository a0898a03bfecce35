#pragma once
// settings: what the environment says, read once, by the constructor. Before that, and where it
// cannot be read, nothing polls and every wrapper is a pass-through.
//
// HALTPOLL_GOVERNOR: a SPEC; default `haltpoll`. A bad one: one line on stderr, no polling in this
// process.
//
// HALTPOLL_STATS: a file of sizeof(stats_page) bytes, mapped shared. Not usable: one line on
// stderr, no counting.
//
// Nothing else is read.
#include <atomic>
#include <haltpoll/core/any.hpp>
#include <haltpoll/process/stats.hpp>

namespace haltpoll::preload {

using core::u32;
using core::u64;
using process::stats_page;
using process::stats_slot;

struct settings {
  std::atomic<bool> polling{false};
  core::any::params governor;
  stats_page* stats = nullptr;
};
extern settings config;

void read_settings();

/// What a thread remembers between its blocking calls. A forked child goes on with its parent's
/// copy, which is as good a guess as any.
struct thread_state {
  core::any::state governor;
  u64 resume_ns;    ///< no poll before this time ...
  u32 left_alone;   ///< ... nor in so many calls from now on
  u32 backoff = 1;  ///< see poll_loop.hpp; not 0: a new thread has yet to show that it is alone
  u32 at_once;      ///< calls in a row whose first attempt found something
  u32 slot;         ///< of the stats page, plus 1; 0: not chosen yet
  enum : u32 {
    unknown,
    ordinary,
    other
  } policy;  ///< scheduling policy, asked before the first poll
};

/// Initial-exec: a wrapper must not allocate, and the usual TLS of a shared library does on first
/// use.
extern thread_local thread_state this_thread [[gnu::tls_model("initial-exec")]];

/// The slot to count in, null where nobody counts.
stats_slot* counters(thread_state& t);

}  // namespace haltpoll::preload
