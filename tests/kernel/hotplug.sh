# shellcheck shell=dash disable=SC2154,SC2034
# BOOT --thread single --timeout 280
# hotplug COUNT: takes a CPU offline and online COUNT times while both poll.
# shellcheck source=tests/kernel/inside.sh
. ./inside.sh
cpu1=/sys/devices/system/cpu/cpu1/online

expect 0 haltpoll start --governor fixed:window_ns=200000
for i in $(seq "$1"); do
  load
  usleep 100000
  echo 0 >$cpu1
  usleep 50000
  echo 1 >$cpu1
  end_load
done
check_quiet
# The CPU that came back polls.
before=$(counter polls)
load
sleep 1
end_load
[ "$(counter polls)" -gt "$before" ] || fail 'nothing polls any more'
haltpoll status
expect 0 haltpoll stop
check_undone
echo "passed: $1 times offline and online"
