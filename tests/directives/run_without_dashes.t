NAME   a command without -- is refused, not guessed at
RUN    haltpoll run true
EXIT   64
STDERR_REGEX ^haltpoll: .*true
