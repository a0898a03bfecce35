# shellcheck shell=bash
# Read in by lab/boot: puts together what is inside (run/initrd): parts of an initramfs that are made once and kept, and this
# run's own.
# shellcheck disable=SC2154  # set by lab/boot

# What this run alone has: the command, its environment and files.
tree=$run/tree
mkdir -p "$tree/lab" "$tree/work"
quoted() { local word; for word in "$@"; do printf " '%s'" "${word//\'/\'\\\'\'}"; done; }
case ${#command[@]} in
  0) : >"$tree/lab/interactive" ;;
  1) printf '%s\n' "${command[0]}" >"$tree/lab/command" ;;
  *) echo "exec$(quoted "${command[@]}")" >"$tree/lab/command" ;;
esac
for copy in "${copies[@]}"; do cp -rL "$copy" "$tree/work/"; done

# The parts that are made once. msr: the daemon turns the host's own polling off through it, where there is one.
parts=$cache/initramfs/$arch
mkdir -p "$parts"
[ "$arch" != amd64 ] || modules=(msr "${modules[@]}")
base=$parts/base-$(cat "$kernel_dir/release")$(printf -- '-%s' "${modules[@]}").cpio
"$here/initramfs" base "$arch" "$kernel_dir" "$base" "${modules[@]}"
archives=("$base")
for tool in "${tools[@]}"; do
  answer=$("$here/tools" "$arch" "$tool") || exit
  mapfile -t found <<<"$answer"
  pairs=()
  for file in "${found[@]:1}"; do pairs+=("$file=/${file#"${found[0]%/}/"}"); done
  "$here/initramfs" programs "$arch" "${found[0]}" "$parts/$tool.cpio" "${pairs[@]}"
  archives+=("$parts/$tool.cpio")
done

# Our own programs, where they are built ("none": without them).
build=${option[build]}
[ -n "$build" ] || build=$here/../build/$(if [ "$arch" = "$host_arch" ]; then echo release; else echo "$arch"; fi)
pairs=()
: >"$tree/lab/environment"
ours() { # FILE PATH [VARIABLE]: FILE of the build is PATH inside, and VARIABLE says so
  [ "$build" != none ] || return 0
  if [ ! -e "$build/$1" ]; then say "$build/$1 is not built: not inside"; return; fi
  pairs+=("$build/$1=$2")
  [ -z "${3:-}" ] || echo "export $3=$2" >>"$tree/lab/environment"
}
ours cli/haltpoll /usr/bin/haltpoll
ours bench/haltpoll-worker /usr/bin/haltpoll-worker HALTPOLL_WORKER
ours process/libhaltpoll_preload.so /usr/lib/haltpoll/libhaltpoll_preload.so HALTPOLL_PRELOAD_LIBRARY
if ((${#pairs[@]})); then
  # The libraries of another architecture are those it was linked with.
  roots=/
  [ "$arch" = "$host_arch" ] || roots=$("$here/sysroot" "$arch") || exit
  own=$parts/build-$(readlink -f "$build" | cksum | cut -d ' ' -f 1).cpio
  "$here/initramfs" programs "$arch" "$roots" "$own" "${pairs[@]}"
  archives+=("$own")
fi
(cd "$tree" && find . | cpio --create --format newc --owner 0:0 --quiet) >"$run/own.cpio"
cat "${archives[@]}" "$run/own.cpio" >"$run/initrd"
