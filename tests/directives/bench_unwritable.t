NAME   a file that cannot be written is told before the run
RUN    haltpoll bench pipe --rounds 100 --json /nonexistent/x.json
EXIT   64
STDERR_REGEX ^haltpoll: --json: cannot write /nonexistent/x.json: No such file or directory$
STDOUT_EMPTY
TIMEOUT 5
