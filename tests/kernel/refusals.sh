# shellcheck shell=dash disable=SC2154,SC2034
# BOOT --thread single --timeout 200
# What stands in the way is said, and nothing stays: no bpffs, one that cannot be written, a name that is taken, no BTF, no capabilities.
# shellcheck source=tests/kernel/inside.sh
. ./inside.sh
# busybox keeps su to itself for want of a shadow file; this one drops the user and with it every capability.
nobody() { start-stop-daemon -S -c nobody:nogroup -n none -a /usr/bin/haltpoll -- "$@"; }
echo 'nobody:x:65534:65534:nobody:/:/bin/sh' >>/etc/passwd
echo 'nogroup:x:65534:' >>/etc/group

refused() { # CODE TEXT: of start
  expect "$1" haltpoll start
  echo "$said" | grep -q "$2" || fail "no \"$2\" in: $said"
  check_undone
}
mount -o remount,ro /sys/fs/bpf
refused 69 '/sys/fs/bpf/haltpoll: Read-only file system'
umount /sys/fs/bpf
refused 69 '/sys/fs/bpf/haltpoll: No such file or directory'
mount -t bpf bpf /sys/fs/bpf
mkdir /sys/fs/bpf/haltpoll /sys/fs/bpf/haltpoll/foreign
expect 69 haltpoll start
echo "$said" | grep -q '/sys/fs/bpf/haltpoll: File exists' || fail "$said"
rmdir /sys/fs/bpf/haltpoll/foreign /sys/fs/bpf/haltpoll

expect 77 nobody start
echo "$said" | grep -qE 'CAP_BPF|takes root' || fail "$said"
expect 64 haltpoll start --cpus 5

mount -t tmpfs none /sys/kernel/btf
refused 69 'BTF'
umount /sys/kernel/btf

expect 0 haltpoll start
expect 77 nobody status
expect 77 nobody stop
expect 0 haltpoll stop
check_undone
echo 'passed: refusals'
