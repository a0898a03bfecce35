NAME   --stats tells what polling did and passes the exit code on
RUN    haltpoll run --window-ns 50000 --stats -- sh -c 'echo out; exit 3'
EXIT   3
STDOUT_REGEX ^out$
STDERR_REGEX governor +fixed:window_ns=50000 +from --window-ns
STDERR_REGEX polls +[0-9]+
STDERR_REGEX contended +[0-9]+
STDERR_REGEX polled time +[0-9]
