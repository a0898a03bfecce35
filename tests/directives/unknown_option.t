NAME   an unknown option is named
RUN    haltpoll doctor --frobnicate
EXIT   64
STDERR_REGEX ^haltpoll: .*--frobnicate
STDERR_REGEX ^hint: haltpoll doctor --help$
STDERR_LINES 2
STDOUT_EMPTY
