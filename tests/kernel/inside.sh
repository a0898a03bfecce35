# shellcheck shell=dash disable=SC2034
# What the scripts beside this one share. They run as root inside a stock kernel.

fail() { echo "FAILED: $*"; dmesg | tail -n 15; exit 1; }

# expect CODE COMMAND...: runs it, wants that exit code, leaves what it said in $said.
expect() {
  wanted=$1
  shift
  code=0
  said=$("$@" 2>&1) || code=$?
  [ "$code" = "$wanted" ] || fail "$* : exit code $code, not $wanted: $said"
}

# A ping-pong between two CPUs in the background, for as long as the test takes.
load() {
  (while haltpoll-worker pipe --ops 1000000 --cpu-a 0 --cpu-b 1; do :; done) >/dev/null 2>&1 &
  load=$!
}
end_load() {
  kill "$load" 2>/dev/null || true
  killall -KILL haltpoll-worker 2>/dev/null || true
  wait "$load" 2>/dev/null || true
}

# The sum of a counter over all CPUs.
counter() { haltpoll status --json | awk -v key="\"$1\":" '$1 == key { n += $2 } END { printf "%d\n", n }'; }

# Interrupts that one pipe round trip takes, in hundredths: 200 where nothing polls.
interrupts_per_op() {
  haltpoll bench pipe --backends off,off --rounds 1 --json - 2>/dev/null |
    awk '/baseline_interrupts_per_op/ { printf "%d\n", $2 * 100 }'
}

# The kernel is as it was before us: nothing of ours is loaded, attached or pinned, it has nothing to complain about, and a wake
# takes its interrupt again.
check_undone() {
  ! bpftool prog show | grep -E 'idle_(enter|again|exit)|woken_without' || fail 'our programs are still loaded'
  [ -z "$(bpftool link show)" ] || fail "links are left: $(bpftool link show)"
  [ ! -e /sys/fs/bpf/haltpoll ] || fail 'pins are left'
  check_quiet
  [ "$(nproc)" -lt 2 ] && return
  per_op=$(interrupts_per_op)
  case $(uname -m) in
    # arm64 has no polling flag: the interrupt is there in any case.
    x86_64) [ "$per_op" -ge 150 ] || fail "a round trip takes $per_op/100 interrupts, not 2: something still polls" ;;
  esac
}
check_quiet() {
  ! dmesg | grep -E 'WARNING:|BUG:|Oops|stall|Call Trace|hung' || fail 'the kernel complains'
}
