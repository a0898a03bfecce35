NAME   doctor runs no command
RUN    haltpoll doctor -- true
EXIT   64
STDERR_REGEX ^haltpoll: doctor takes no command
