NAME   the foreground form refuses in the same way
NEEDS  haltpoll doctor --no-measure --json | grep -q "EPERM on load"
RUN    haltpoll daemon
EXIT   69
STDERR_REGEX ^haltpoll: this kernel refuses BPF programs
