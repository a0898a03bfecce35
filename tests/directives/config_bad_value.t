NAME   a bad value in the file names file and line
FILE   h.toml # comment\nwindow_ns = 2000000\n
ENV    HALTPOLL_CONFIG=h.toml
RUN    haltpoll run -- true
EXIT   65
STDERR_REGEX ^haltpoll: h.toml:2: window_ns: 2000000 is above the limit 1000000$
STDERR_LINES 1
