#!/usr/bin/env bash
# Builds the kernel of `vm.sh --virtual-time` from a kernel's source. It is a file of 6 MB in the
# user's cache, needs no privilege, and nothing of it goes anywhere else.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=kernel.sh
source "$here/kernel.sh"

USAGE="usage: build-kernel.sh [SOURCE] [MAKE_OPTION...]
  SOURCE        a linux-*.tar* of 6.1 or later; /usr/src/linux-source-*.tar.xz, of Debian's package
                linux-source, by default
  MAKE_OPTION   such as -j2; -j with the number of processors by default
Takes some minutes and 2 GB in TMPDIR. The kernel is installed as
$VIRTUAL_TIME_KERNEL, or as PACELINE_KERNEL.
Exit code: 0; 2 when something is missing."

main() {
    local source=
    case ${1:-} in
        --help | -h)
            printf '%s\n' "$USAGE"
            exit
            ;;
        '' | -*) source=$(packaged_source) ;;
        *) source=$1 && shift ;;
    esac
    [[ $source ]] || die 2 'no kernel source; apt-get install linux-source'
    [[ -r $source ]] || die 2 "cannot read $source"
    require_tools
    WORK=$(mktemp -d)
    trap 'rm -rf "$WORK"' EXIT
    mkdir "$WORK/source" "$WORK/build"
    tar -x -f "$source" --strip-components=1 -C "$WORK/source"
    configure
    make_quietly "${@:--j$(nproc)}" linux
    mkdir -p "$(dirname "$VIRTUAL_TIME_KERNEL")"
    strip -o "$VIRTUAL_TIME_KERNEL" "$WORK/build/linux"
    printf 'Linux %s in %s\n' "$("$VIRTUAL_TIME_KERNEL" --version)" "$VIRTUAL_TIME_KERNEL"
}

packaged_source() {
    find /usr/src -maxdepth 1 -name 'linux-source-*.tar.xz' 2>/dev/null | sort -V | tail -n 1
}

require_tools() {
    local tool missing=()
    for tool in cc:gcc make:make flex:flex bison:bison bc:bc strip:binutils xz:xz-utils; do
        command -v "${tool%:*}" >/dev/null || missing+=("${tool#*:}")
    done
    [[ -e /usr/include/stdlib.h ]] || missing+=(libc6-dev)
    ((${#missing[@]} == 0)) || die 2 "not installed; apt-get install ${missing[*]}"
}

# An option that the source has not, or refuses for want of another, is named.
configure() {
    local option
    KCONFIG_ALLCONFIG=$here/virtual-time.config make_quietly allnoconfig
    while read -r option; do
        grep -qxF "$option" "$WORK/build/.config" ||
            die 1 "this kernel source does not support $option"
    done < <(grep '^CONFIG_' "$here/virtual-time.config")
}

make_quietly() { # ARGUMENT...
    if ! make -s -C "$WORK/source" "O=$WORK/build" ARCH=um "$@" >"$WORK/log" 2>&1; then
        tail -n 20 "$WORK/log" >&2
        die 1 "make $* failed; see its last lines above"
    fi
}

main "$@"
