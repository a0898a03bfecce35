# shellcheck shell=bash
# Read in by lab/boot: from arch, kernel_dir, accel, thread, icount and cpu it makes the QEMU command (machine), the kernel image
# (image) and the kernel's arguments (arguments).
# shellcheck disable=SC2154,SC2034  # set and used by lab/boot

case $arch in
  amd64)
    machine=(qemu-system-x86_64 -M pc) emulated=max,-monitor image=$kernel_dir/vmlinux arguments=console=ttyS0
    # No MWAIT, like most rented machines: idle means HLT.
    # Under emulation the TSC follows the host's clock and is the same on every CPU, but a busy host delays the kernel's
    # cross-check against the HPET, which would then make it fall back to a clock that costs an exit per reading.
    arguments+=' tsc=reliable'
    ;;
  arm64)
    machine=(qemu-system-aarch64 -M virt) emulated=max image=$kernel_dir/vmlinuz arguments=console=ttyAMA0
    ;;
esac
command -v "${machine[0]}" >/dev/null || die "${machine[0]} is not installed: run ./dev setup" 69
if [ -z "$accel" ]; then
  accel=tcg
  # On amd64 KVM may be there without the CPU's own virtualisation (PVM): it runs only kernels that were made for it.
  if [ "$arch" = "$host_arch" ] && [ -w /dev/kvm ] && [ -z "$icount" ]; then
    if [ "$arch" != amd64 ] || grep -qwE 'svm|vmx' /proc/cpuinfo; then accel=kvm; fi
  fi
fi
if [ "$accel" = kvm ]; then
  machine+=(-accel kvm -cpu "${cpu:-host}")
else
  machine+=(-accel "tcg,thread=$thread" -cpu "${cpu:-$emulated}")
  [ -z "$icount" ] || machine+=(-icount shift=0)
fi
machine+=(-no-user-config -nodefaults -display none -monitor none -no-reboot)
# A panic resets at once, which -no-reboot turns into the end of QEMU.
arguments+=' panic=-1'
