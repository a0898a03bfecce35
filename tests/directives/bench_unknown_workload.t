NAME   an unknown workload lists those there are
RUN    haltpoll bench pip
EXIT   64
STDERR_REGEX ^haltpoll: unknown workload "pip"$
STDERR_REGEX ^hint: there are pipe, 
STDOUT_EMPTY
