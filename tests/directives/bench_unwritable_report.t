NAME   the same for the report
RUN    haltpoll bench pipe --rounds 100 --report .
EXIT   64
STDERR_REGEX ^haltpoll: --report: . is not a regular file$
TIMEOUT 5
