# shellcheck shell=dash disable=SC2154,SC2034
# BOOT --thread single
# No trampolines: the programs load and cannot be attached.
# shellcheck source=tests/kernel/inside.sh
. ./inside.sh
expect 69 haltpoll start
echo "$said" | grep -q 'ENOTSUPP on attach' || fail "$said"
echo "$said" | grep -q 'haltpoll run' || fail "$said"
check_undone
echo 'passed: refused cleanly'
