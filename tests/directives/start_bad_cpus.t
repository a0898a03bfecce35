NAME   a list of CPUs that is none
RUN    haltpoll start --cpus 3-1
EXIT   64
STDERR_REGEX ^haltpoll: --cpus: "3-1" is not a list of CPUs
STDERR_LINES 1
