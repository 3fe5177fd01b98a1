# Sourced by what uses or builds it: where the kernel for virtual time is.
#
# shellcheck shell=bash

# shellcheck source=options.sh
source "$(dirname "${BASH_SOURCE[0]}")/options.sh"

# shellcheck disable=SC2034 # It is for who sources this.
VIRTUAL_TIME_KERNEL=${PACELINE_KERNEL:-${XDG_CACHE_HOME:-$HOME/.cache}/paceline/linux-virtual-time}
