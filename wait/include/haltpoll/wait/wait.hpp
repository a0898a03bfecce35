#pragma once
// wait: C++ primitives that poll for a moment before they sleep, with a polling flag, so that who
// wakes a polling thread makes no system call. Public and installed: find_package(haltpoll), link
// haltpoll::wait.
//
//     event, manual_event   a flag                 event.hpp
//     semaphore             a count                semaphore.hpp
//     waiter                any condition          waiter.hpp
//     wait_on, notify_one   an atomic one has      wait_on.hpp
//
// The room must not decide windows (core), start threads, allocate, print, throw, or depend on
// anything but core, cpu and libc. It polls only while nobody else needs the CPU. All primitives
// are wait_word.hpp with a different condition; all can be used by thousands per process (64 bytes
// each), none by several processes at once. Objects can be constinit.
#include <haltpoll/wait/event.hpp>
#include <haltpoll/wait/semaphore.hpp>
#include <haltpoll/wait/wait_on.hpp>
#include <haltpoll/wait/waiter.hpp>
