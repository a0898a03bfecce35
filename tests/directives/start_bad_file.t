NAME   the file of the kernel backend is checked, file and line named
FILE   h.toml governor = "fixed"\nmax_pollers = -1\n
ENV    HALTPOLL_CONFIG=h.toml
RUN    haltpoll start
EXIT   65
STDERR_REGEX ^haltpoll: h.toml:2: max_pollers: "-1" is not a whole number from 0 to 8192$
