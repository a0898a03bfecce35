NAME   table, JSON file and page in one run
NEEDS  [ "$(nproc)" -ge 2 ]
RUN    haltpoll bench pipe --rounds 1 --backends off,off --json b.json --report b.html && json_check haltpoll.bench/1 <b.json && head -c 15 b.html && ls
STDOUT_REGEX ^workload .*speed-up
STDOUT_REGEX ^<!doctype html>
STDOUT_REGEX ^b.json$
TIMEOUT 90
