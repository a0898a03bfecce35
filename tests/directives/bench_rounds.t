NAME   too many rounds name the limit
RUN    haltpoll bench pipe --rounds 101
EXIT   64
STDERR_REGEX ^haltpoll: --rounds: 101 is above the limit 100$
