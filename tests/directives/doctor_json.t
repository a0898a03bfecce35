NAME   doctor --json is one object
RUN    haltpoll doctor --json --no-measure
STDOUT_JSON haltpoll.doctor/1
STDERR_EMPTY
