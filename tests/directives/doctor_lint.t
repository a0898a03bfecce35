NAME   haltpoll set up with a start above its maximum is warned about with both values
FILE   t/sys/module/haltpoll/parameters/guest_halt_poll_ns 2400000\n
FILE   t/sys/module/haltpoll/parameters/guest_halt_poll_grow_start 24000000\n
RUN    haltpoll doctor --sysroot t
STDOUT_REGEX ^warning: .*guest_halt_poll_grow_start 24000000 is above guest_halt_poll_ns 2400000
