NAME   a bench of the kernel backend says why there is none
NEEDS  haltpoll doctor --no-measure --json | grep -q "EPERM on load"
RUN    haltpoll bench pipe --rounds 1 --backends off,kernel
EXIT   69
STDERR_REGEX ^haltpoll: this kernel refuses BPF programs
