NAME   grow_start above the maximum is an error with both values
RUN    haltpoll run --governor haltpoll:guest_halt_poll_grow_start=24000000 -- true
EXIT   64
STDERR_REGEX ^haltpoll: --governor: guest_halt_poll_grow_start 24000000 is above guest_halt_poll_ns 200000$
STDERR_REGEX ^hint: 
STDERR_LINES 2
