NAME   a static program is refused
RUN    haltpoll run -- static_true
EXIT   69
STDERR_REGEX ^haltpoll: .*is statically linked
STDERR_REGEX ^hint: 
TIMEOUT 5
