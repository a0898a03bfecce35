NAME   a window above the hard cap names the limit
RUN    haltpoll run --window-ns 1000001 -- true
EXIT   64
STDERR_REGEX ^haltpoll: --window-ns: 1000001 is above the limit 1000000$
STDERR_LINES 1
