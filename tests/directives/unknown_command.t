NAME   an unknown command is named
RUN    haltpoll strat
EXIT   64
STDERR_REGEX ^haltpoll: unknown command "strat"$
STDERR_REGEX ^hint: there are doctor, bench, run, start, stop, status, set, get, daemon$
STDERR_LINES 2
