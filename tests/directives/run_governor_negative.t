NAME   a negative value
RUN    haltpoll run --governor fixed:window_ns=-3 -- true
EXIT   64
STDERR_REGEX ^haltpoll: --governor: window_ns "-3" is not a whole number
