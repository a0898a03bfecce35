NAME   a negative window
RUN    haltpoll run --window-ns -5 -- true
EXIT   64
STDERR_REGEX ^haltpoll: --window-ns: "-5" is not a whole number from 0 to 1000000$
