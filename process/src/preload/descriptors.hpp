#pragma once
// descriptors: what kind of file a descriptor is, remembered, because read() says nothing about it
// and regular files, terminals and non-blocking descriptors must be left exactly as they are.
//
// A descriptor starts as `unknown`: the plain call is made, nothing else. Only when such a call
// took long enough to have blocked is the descriptor classified (fstat; for pipes and the like
// F_GETFL; for sockets two getsockopt), once. Nobody pays for descriptors that always have data.
//
// An entry is forgotten before close, dup2, dup3, close_range, closefrom, fclose, pclose and
// freopen do their work, and when SO_RCVTIMEO or SO_RCVLOWAT is set. A generation in the entry
// keeps a classification that was under way from landing on the successor. What can still be stale,
// and what then happens:
//   * O_NONBLOCK set after classification (fcntl, FIONBIO, or another process that shares the open
//     file): the poll runs for at most one window, then the real call answers EAGAIN as it should,
//     and the entry is forgotten. fcntl and ioctl are variadic and therefore not wrapped.
//   * O_NONBLOCK cleared after classification: stays `untouched`, is not polled for.
//   * the number was closed behind libc's back (raw system call, io_uring, daemon(), a CLONE_FILES
//     relative) and means another file now. Pipe, socket, eventfd in any order: the same calls fit. A terminal or
//     inotify file: RWF_NOWAIT is refused and the entry corrected. A regular file: RWF_NOWAIT reads
//     what the page cache has, so a read can be short; a miss ends in the plain read after one
//     window. `untouched` that became a pipe: not polled.
//   * fork copies the table together with the descriptors. A vfork child shares the table and its
//     closes forget entries of the parent: they are learnt again.
#include <haltpoll/core/types.hpp>

namespace haltpoll::preload {

using core::u32;
using core::u64;

namespace descriptors {

/// Higher ones are left alone: 8 KiB of table, of which a process touches the pages it uses.
inline constexpr int limit = 4096;

/// Low byte: bits below; high byte: generation.
using entry = unsigned short;
inline constexpr entry untouched = 1;  ///< not to be polled for
inline constexpr entry pollable =
    2;  ///< pipe, socket, or an anonymous inode (eventfd, timerfd, ...)
inline constexpr entry by_poll = 4;  ///< pollable, but takes no RWF_NOWAIT: ask poll() first
inline constexpr entry timed = 8;    ///< SO_RCVTIMEO is set: any handled signal ends a call
inline constexpr entry kind_mask = 0xff;

/// The entry; `untouched` for a descriptor beyond the table.
entry get(int fd);

/// Finds out what `fd` is, after a blocking call with the entry `seen` blocked. Returns the new
/// entry. Keeps errno.
entry classify(int fd, entry seen);

/// Adds `by_poll`, found out by trying.
void refuse_nowait(int fd, entry seen);

/// Makes `fd` unknown.
void forget(int fd);
void forget_range(u32 first, u32 last);

}  // namespace descriptors
}  // namespace haltpoll::preload
