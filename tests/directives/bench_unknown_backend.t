NAME   an unknown backend lists those there are
RUN    haltpoll bench pipe --backends off,warp
EXIT   64
STDERR_REGEX ^haltpoll: --backends: unknown backend "warp"$
STDERR_REGEX ^hint: there are off, process, kernel
