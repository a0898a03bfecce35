NAME   set without an assignment
RUN    haltpoll set
EXIT   64
STDERR_REGEX assignments is required
