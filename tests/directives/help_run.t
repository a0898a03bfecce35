NAME   a command's --help shows how it is called
RUN    haltpoll run --help
STDOUT_REGEX ^usage: haltpoll run .*-- COMMAND
STDOUT_REGEX --window-ns N
STDERR_EMPTY
