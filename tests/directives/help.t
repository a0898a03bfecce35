NAME   --help says what there is
RUN    haltpoll --help
STDOUT_REGEX ^usage: haltpoll COMMAND
STDOUT_REGEX doctor
STDOUT_REGEX Exit codes
STDERR_EMPTY
