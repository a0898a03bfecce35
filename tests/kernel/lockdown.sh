# shellcheck shell=dash disable=SC2154,SC2034
# BOOT --thread single --append lockdown=confidentiality
# shellcheck source=tests/kernel/inside.sh
. ./inside.sh
grep -q '\[confidentiality\]' /sys/kernel/security/lockdown || fail "lockdown is $(cat /sys/kernel/security/lockdown)"
# Lockdown takes helpers that read kernel memory away; ours reads the idle task through BTF pointers and needs none of them.
expect 0 haltpoll start --governor fixed:window_ns=200000
load
sleep 2
end_load
[ "$(counter hits)" -gt 0 ] || fail 'nothing polled'
expect 0 haltpoll stop
check_undone
echo 'passed: lockdown'
