# Sourced by vm.sh and build-kernel.sh: where the kernel for virtual time is, and how to fail.
#
# shellcheck shell=bash

# shellcheck disable=SC2034 # It is for who sources this.
VIRTUAL_TIME_KERNEL=${PACELINE_KERNEL:-${XDG_CACHE_HOME:-$HOME/.cache}/paceline/linux-virtual-time}

die() { # EXIT_CODE MESSAGE
    printf '%s: %s\n' "${0##*/}" "$2" >&2
    exit "$1"
}
