# Sourced by the other scripts: how to fail, and the values of options.
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
    ((10#$3 >= $1)) || die 2 "\`$2\` is $1 at least"
    printf '%d' "$((10#$3))"
}

folder() { # OPTION VALUE...
    [[ -d ${2:-} && -w $2 ]] || die 2 "\`$1\` needs a folder to write to"
    readlink -f "$2"
}
