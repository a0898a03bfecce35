# shellcheck shell=bash
# Read in by lab/boot: from arch, kernel_dir and the options it makes the QEMU command (machine), the kernel image
# (image) and the kernel's arguments (arguments).
# shellcheck disable=SC2154,SC2034  # set and used by lab/boot

case $arch in
  amd64)
    machine=(qemu-system-x86_64 -M pc) emulated=max,-monitor
    image=$kernel_dir/vmlinux arguments=console=ttyS0
    # Without MWAIT, like most rented machines: idle means HLT.
    # tsc=reliable: under emulation the TSC follows the host's clock and is the same on every CPU, but a busy host delays the kernel's
    # cross-check against the HPET, which would then make it fall back to a clock that costs an exit per reading.
    arguments+=' tsc=reliable'
    ;;
  arm64)
    machine=(qemu-system-aarch64 -M 'virt,gic-version=3') emulated=neoverse-n1
    image=$kernel_dir/vmlinuz arguments=console=ttyAMA0
    ;;
esac
command -v "${machine[0]}" >/dev/null || die "${machine[0]} is not installed: run ./dev setup" 69
accel=${option[accel]}
if [ -z "$accel" ]; then
  accel=tcg
  [ -n "$icount" ] || accel=$("$here/accelerator" "$arch" "${machine[0]}" "$image") || exit
fi
if [ "$accel" = kvm ]; then
  machine+=(-accel kvm -cpu "${option[cpu]:-host}")
else
  # With instruction counting QEMU has one thread only.
  thread=${option[thread]}
  [ -z "$icount" ] || thread=single
  machine+=(-accel "tcg,thread=$thread" -cpu "${option[cpu]:-$emulated}")
  [ -z "$icount" ] || machine+=(-icount shift=0)
fi
machine+=(-no-user-config -nodefaults -display none -monitor none -no-reboot)
# A panic resets at once, which -no-reboot turns into the end of QEMU.
arguments+=' panic=-1'
