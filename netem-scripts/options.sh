# Sourced by the other scripts: how to fail, the values of options, the program that reads links.
#
# shellcheck shell=bash

die() { # EXIT_CODE MESSAGE
    printf '%s: %s\n' "${0##*/}" "$2" >&2
    exit "$1"
}

# The value of the option that is first in the command line's rest.
option() { # OPTION VALUE...
    (($# > 1)) || die 2 "\`$1\` needs a value"
    printf '%s' "$2"
}

number() { # LEAST OPTION VALUE...
    [[ ${3:-} =~ ^[0-9]{1,7}$ ]] || die 2 "\`$2\` needs a whole number"
    ((10#$3 >= $1)) || die 2 "\`$2\` must be at least $1"
    printf '%d' "$((10#$3))"
}

folder() { # OPTION VALUE...
    [[ -d ${2:-} && -w $2 ]] || die 2 "\`$1\` needs a writable directory"
    readlink -f "$2"
}

# The program that reads a LINK: the one that LINK_RELAY names, the newest that was built here, or
# that of PATH.
link_relay() {
    local found=${LINK_RELAY:-} build target
    local remedy="cargo build -p paceline-link-sim --bin link-relay"
    target=${CARGO_TARGET_DIR:-$(dirname "${BASH_SOURCE[0]}")/../target}
    if [[ ! $found ]]; then
        for build in "$target"/{release,debug}/link-relay; do
            [[ ! -x $build || ! $build -nt $found ]] || found=$build
        done
    fi
    [[ $found ]] || found=$(command -v link-relay) || true
    [[ -x $found ]] || die 2 "no link-relay${found:+ at $found}; run \`$remedy\`"
    readlink -f "$found"
}
