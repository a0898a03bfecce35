NAME   start says why this kernel refuses, and what else there is
NEEDS  haltpoll doctor --no-measure --json | grep -q "EPERM on load"
RUN    haltpoll start
EXIT   69
STDERR_REGEX ^haltpoll: this kernel refuses BPF programs at function entry and exit \(fexit/tick_nohz_idle_enter: EPERM on load\)$
STDERR_REGEX ^hint: poll per process instead: haltpoll run -- COMMAND$
