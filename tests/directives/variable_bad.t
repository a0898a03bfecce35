NAME   a bad variable is named
ENV    HALTPOLL_GOVERNOR=host:halt_poll_ns=2000000
RUN    haltpoll run -- true
EXIT   65
STDERR_REGEX ^haltpoll: HALTPOLL_GOVERNOR: halt_poll_ns 2000000 is above the limit 1000000$
