NAME   run passes the exit code on
RUN    haltpoll run -- sh -c 'exit 7'
EXIT   7
STDERR_EMPTY
