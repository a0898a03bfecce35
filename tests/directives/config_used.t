NAME   a governor from the file is used and its origin told
FILE   h.toml governor = "fixed:window_ns=1000"\n
ENV    HALTPOLL_CONFIG=h.toml
RUN    haltpoll run --stats -- true
STDERR_REGEX fixed:window_ns=1000 +from h.toml:1
