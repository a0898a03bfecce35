NAME   an unknown key of a governor
RUN    haltpoll run --governor fixed:window=3 -- true
EXIT   64
STDERR_REGEX ^haltpoll: --governor: unknown key "window" for fixed; it takes window_ns$
