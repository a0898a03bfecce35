NAME   status of what does not run
NEEDS  [ ! -e /sys/fs/bpf/haltpoll ] && [ "$(id -u)" = 0 ]
RUN    haltpoll status --json
EXIT   69
STDERR_REGEX ^haltpoll: the kernel backend is not running$
STDERR_REGEX ^hint: haltpoll start$
