# shellcheck shell=dash disable=SC2154,SC2034
# BOOT --thread single --smp 3 --timeout 280
# settings COUNT: rewrites parameters COUNT times under load; every list of three CPUs; what set refuses.
# shellcheck source=tests/kernel/inside.sh
. ./inside.sh

expect 0 haltpoll start
load
for i in $(seq "$1"); do
  case $((i % 4)) in
    0) expect 0 haltpoll set governor=fixed:window_ns=50000 ;;
    1) expect 0 haltpoll set governor=host max_pollers=1 ;;
    2) expect 0 haltpoll set governor=haltpoll guest_halt_poll_ns=100000 max_pollers=0 ;;
    3) expect 0 haltpoll set guest_halt_poll_grow_start=20000 max_polled_percent=50 ;;
  esac
done
end_load
check_quiet

expect 0 haltpoll set governor=fixed:window_ns=200000 max_polled_percent=0
expect 64 haltpoll set window_ns=1000001
expect 64 haltpoll set window_ns=1000 max_pollers=x
[ "$(haltpoll get window_ns)" = 200000 ] || fail 'a refused set changed something'
[ "$(haltpoll get window_ns --origin)" = '200000  set' ] || fail "origin: $(haltpoll get window_ns --origin)"
expect 64 haltpoll set guard_clock=false
echo "$said" | grep -q 'at the start only' || fail "$said"
expect 64 haltpoll set cpus=7

polls_of() { haltpoll status --json | awk -v cpu="$1," '$1 == "\"cpu\":" { this = $2 } $1 == "\"polls\":" && this == cpu { print $2 + 0 }'; }
# Idles on a CPU a few times, for a poll each.
idle_on() { taskset -c "$1" sh -c 'for i in 1 2 3 4 5; do usleep 10000; done'; }
for case in '0: 0' '1: 1' '2: 2' '0-1: 0 1' '1-2: 1 2' '0,2: 0 2' '0-2: 0 1 2'; do
  list=${case%%:*} members=${case#*:}
  expect 0 haltpoll set "cpus=$list"
  usleep 100000
  for cpu in 0 1 2; do
    before=$(polls_of $cpu)
    idle_on $cpu
    now=$(polls_of $cpu)
    case "$members " in
      *" $cpu "*) [ "$now" -gt "$before" ] || fail "cpus=$list, and CPU $cpu does not poll" ;;
      *) [ "$now" = "$before" ] || fail "cpus=$list, but CPU $cpu polled" ;;
    esac
  done
done
expect 0 haltpoll stop
check_undone
echo "passed: $1 sets, every list of CPUs"
