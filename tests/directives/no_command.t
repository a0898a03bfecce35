NAME   no command is a usage error that lists them
RUN    haltpoll
EXIT   64
STDERR_REGEX ^haltpoll: no command given$
STDERR_REGEX ^hint: .*doctor, bench, run
STDERR_LINES 2
