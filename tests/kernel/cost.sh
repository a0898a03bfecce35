# shellcheck shell=dash disable=SC2154,SC2034
# BOOT --icount --timeout 280
# What an idle period costs where the window is 0: the mean run time of each program, which under --icount is the number of guest
# instructions it executed (one is one ns; the kernel's two clock readings around it are in it).
# shellcheck source=tests/kernel/inside.sh
. ./inside.sh
expect 0 haltpoll start --governor fixed:window_ns=0
echo 1 >/proc/sys/kernel/bpf_stats_enabled
haltpoll-worker pipe --ops 2000 --cpu-a 0 --cpu-b 1 >/dev/null
bpftool prog show | sed -n 's/.* name \([a-z_]*\) .*run_time_ns \([0-9]*\) run_cnt \([0-9]*\)/\1 \2 \3/p' >/tmp/cost
echo 0 >/proc/sys/kernel/bpf_stats_enabled
total=0
while read -r name time runs; do
  echo "$name: $((time / runs)) instructions, $runs runs"
  case $name in idle_enter* | idle_exit) total=$((total + time / runs)) ;; esac
  # Four times what was measured when this was written (counted instructions do not depend on the machine).
  [ $((time / runs)) -lt 1200 ] || fail "$name takes $((time / runs)) instructions"
done </tmp/cost
[ "$total" -gt 0 ] || fail 'no program ran'
echo "passed: $total instructions per idle period"
