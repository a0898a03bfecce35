NAME   --json - prints JSON and nothing else
NEEDS  [ "$(nproc)" -ge 2 ]
RUN    haltpoll bench pipe --rounds 1 --backends off,off --json -
STDOUT_JSON haltpoll.bench/1
TIMEOUT 90
