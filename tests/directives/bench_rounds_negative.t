NAME   negative rounds
RUN    haltpoll bench pipe --rounds -1
EXIT   64
STDERR_REGEX ^haltpoll: --rounds: "-1" is not a whole number from 1 to 100$
