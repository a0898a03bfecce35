# shellcheck shell=dash disable=SC2154,SC2034
# BOOT --thread single --timeout 580
# life COUNT KILLS: starts and stops the daemon COUNT times and kills it KILLS times, under load, and looks whether anything stays.
# shellcheck source=tests/kernel/inside.sh
. ./inside.sh
count=$1 kills=$2

expect 69 haltpoll status
expect 0 haltpoll stop
[ "$said" = 'not running' ] || fail "stop said $said"
check_undone

load
for i in $(seq "$count"); do
  expect 0 haltpoll start
  [ $((i % 10)) != 1 ] || { expect 69 haltpoll start; echo "$said" | grep -q 'already running: pid' || fail "$said"; }
  expect 0 haltpoll stop
done
for i in $(seq "$kills"); do
  expect 0 haltpoll start
  pid=$(cat /run/haltpoll.pid)
  kill -KILL "$pid"
  # The signal takes its way; what follows at once is the next start, while the undo process of this one is at work.
  while grep -qs 'State:.[RSD]' "/proc/$pid/status"; do usleep 1000; done
done
end_load
# The last one's undo process has some milliseconds to do.
tries=0
while [ -e /sys/fs/bpf/haltpoll ] && [ $((tries += 1)) -lt 200 ]; do usleep 50000; done
expect 69 haltpoll status
check_undone
echo "passed: $count starts and stops, $kills kills"
