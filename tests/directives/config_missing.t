NAME   a file that was named must be there
ENV    HALTPOLL_CONFIG=none.toml
RUN    haltpoll run -- true
EXIT   65
STDERR_REGEX ^haltpoll: none.toml: No such file or directory$
STDERR_REGEX ^hint: HALTPOLL_CONFIG names this file$
