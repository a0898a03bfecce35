NAME   run without a command
RUN    haltpoll run
EXIT   64
STDERR_REGEX ^haltpoll: run: no command given$
STDERR_REGEX ^hint: haltpoll run -- COMMAND
