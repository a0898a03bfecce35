NAME   a share above the whole
RUN    haltpoll start --max-polled-percent 101
EXIT   64
STDERR_REGEX ^haltpoll: --max-polled-percent: 101 is above the limit 100$
