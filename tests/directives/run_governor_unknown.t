NAME   an unknown governor
RUN    haltpoll run --governor turbo -- true
EXIT   64
STDERR_REGEX ^haltpoll: --governor: unknown governor "turbo"; there are .*haltpoll
STDERR_LINES 1
