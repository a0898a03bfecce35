NAME   --version
RUN    haltpoll --version
STDOUT_REGEX ^haltpoll [0-9]+\.[0-9]+\.[0-9]+$
