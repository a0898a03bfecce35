NAME   doctor measures a wake and gives a verdict
NEEDS  [ "$(nproc)" -ge 2 ]
RUN    haltpoll doctor
STDOUT_REGEX another CPU, idle 30 us +[0-9.]+ [num]+s
STDOUT_REGEX a timer, idle 300 us +[0-9.]+ [num]+s
STDOUT_REGEX nothing to win here|times faster
STDOUT_NOT ulimit|memlock
STDERR_EMPTY
TIMEOUT 60
