NAME   --governor and --window-ns contradict
RUN    haltpoll run --governor haltpoll --window-ns 5 -- true
EXIT   64
STDERR_REGEX ^haltpoll: --governor and --window-ns are both given
