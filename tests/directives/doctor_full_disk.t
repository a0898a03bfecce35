NAME   output that cannot be written is an error
RUN    haltpoll doctor --no-measure >/dev/full
EXIT   70
STDERR_REGEX ^haltpoll: standard output: No space left on device$
