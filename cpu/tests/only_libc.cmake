# The preload library links this room with nothing but libc: every undefined symbol of the archive is one of these.
cmake_minimum_required(VERSION 3.25)
set(allowed clock_gettime getauxval strcmp strncmp __errno_location _GLOBAL_OFFSET_TABLE_
  __rseq_offset __rseq_size getrusage sched_yield syscall)
execute_process(COMMAND ${NM} --demangle --undefined-only --format=posix ${ARCHIVE}
  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+ U" lines "${symbols}")
if(NOT lines)
  message(FATAL_ERROR "${NM} named no symbol of ${ARCHIVE}")
endif()
# __aarch64_*: atomics out of line, from the static libgcc.
foreach(line ${lines})
  string(REGEX REPLACE " U$" "" symbol "${line}")
  if(NOT symbol IN_LIST allowed AND NOT symbol MATCHES "^(haltpoll::cpu::|__aarch64_)")
    message(SEND_ERROR "${ARCHIVE} needs ${symbol}")
  endif()
endforeach()
