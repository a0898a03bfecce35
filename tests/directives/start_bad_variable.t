NAME   a variable of the kernel backend is checked and named
ENV    HALTPOLL_GUARD_STEAL=much
RUN    haltpoll start
EXIT   65
STDERR_REGEX ^haltpoll: HALTPOLL_GUARD_STEAL: "much" is not a whole number from 0 to 100$
