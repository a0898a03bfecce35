NAME   on one CPU doctor says why it does not measure
NEEDS  command -v taskset
RUN    taskset -c 0 haltpoll doctor
STDOUT_REGEX one CPU only
