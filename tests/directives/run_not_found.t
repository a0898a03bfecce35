NAME   a command that is not there
RUN    haltpoll run -- ./no_such_program
EXIT   64
STDERR_REGEX ^haltpoll: .*no_such_program
