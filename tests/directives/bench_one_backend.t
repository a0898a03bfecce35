NAME   one backend compares with nothing
RUN    haltpoll bench pipe --backends off
EXIT   64
STDERR_REGEX ^haltpoll: --backends: off alone
