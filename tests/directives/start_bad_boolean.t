NAME   a guard is on or off
RUN    haltpoll start --guard-mwait=maybe
EXIT   64
STDERR_REGEX ^haltpoll: --guard-mwait: "maybe" is neither true nor false$
