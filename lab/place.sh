# shellcheck shell=bash
# Read in by every script of lab/: where fetched things lie, what this machine is, and how to complain.
# shellcheck disable=SC2034  # used by the scripts
cache=${HALTPOLL_LAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/haltpoll-lab}
host_arch=$(dpkg --print-architecture)

say() { printf 'lab: %s\n' "$*" >&2; }
die() { say "$1"; exit "${2:-70}"; }
