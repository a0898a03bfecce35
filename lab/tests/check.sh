# shellcheck shell=bash disable=SC2034  # variables for the tests
# Read in by every test of the lab, which ctest runs as `NAME_test ARCH KERNEL BUILD` (lab/CMakeLists.txt). Skips the test where
# QEMU or what the lab fetches is missing, and has boot and the checks. A test ends with `verdict`.
set -uo pipefail
lab=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
arch=$1 kernel=$2 build=$3
# A directory for the test's files; empty at the end means that boots leave nothing behind (TMPDIR is in it).
work=$(mktemp -d)
export TMPDIR=$work/tmp
mkdir "$TMPDIR"
trap 'rm -rf "$work"' EXIT

qemu=$("$lab/ready" "$arch" "$kernel") || exit

# boot [OPTIONS] -- COMMAND...: one boot of the test's kernel. Leaves code, $work/stdout, $work/stderr. The marker among the
# kernel's arguments is how left_running finds QEMU.
marker=lab.test=$$
boot() {
  code=0
  "$lab/boot" --arch "$arch" --kernel "$kernel" --build "$build" --append "$marker" --timeout 240 "$@" \
    >"$work/stdout" 2>"$work/stderr" </dev/null || code=$?
}
left_running() { pgrep -f -- "$marker"; }

failed=0
fail() {
  echo "FAILED: $*"
  failed=1
}
# expect WHAT GOT WANTED
expect() { [ "$2" = "$3" ] || fail "$1: got \"$2\", expected \"$3\""; }
# expect_line FILE REGEX: some line matches
expect_line() { grep -qE -- "$2" "$1" || fail "no line of ${1##*/} matches $2"; }

verdict() {
  expect 'temporary files left' "$(ls -A "$TMPDIR")" ''
  expect 'QEMU left running' "$(left_running)" ''
  if ((failed)); then
    for stream in stdout stderr; do sed "s/^/$stream: /" "$work/$stream" 2>/dev/null; done
  fi
  exit $failed
}
