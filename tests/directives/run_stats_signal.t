NAME   a signal sent to haltpoll reaches the command, and is its exit code
RUN    exec haltpoll run --stats -- sh -c 'kill -TERM $PPID; exec sleep 5'
EXIT   143
STDERR_REGEX what polling did
TIMEOUT 8
