NAME   nothing can be set where nothing runs
NEEDS  [ ! -e /sys/fs/bpf/haltpoll ] && [ "$(id -u)" = 0 ]
RUN    haltpoll set max_pollers=1
EXIT   69
STDERR_REGEX ^haltpoll: the kernel backend is not running$
