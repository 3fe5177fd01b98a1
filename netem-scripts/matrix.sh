#!/usr/bin/env bash
# The matrices of `bench-client matrix` over a kernel's netem: one path, which gets the links of
# each cell in turn, bench-server at its one end and bench-client at the other. Cells are kept, left
# out when they are there, merged and shown as `bench-client matrix` does.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=lib.sh
source "$here/lib.sh"

USAGE="usage: matrix.sh [--programs DIR] NAME|FILE [OPTION...]
  NAME|FILE       a matrix that \`bench-client list\` names, or a TOML file
  OPTION          of \`bench-client matrix\`, such as --dir DIR, --only loss=1% or --json FILE
  --programs DIR  directory of bench-client and bench-server; PATH, then target/release by default
In a guest: vm.sh --virtual-time --writable DIR matrix.sh NAME --dir DIR/cells
Exit code: that of bench-client; 2 when something is missing."

main() {
    local programs=''
    case ${1:-} in
        --programs)
            programs=$(option "$@")
            shift 2
            ;;
        -h | --help)
            printf '%s\n' "$USAGE"
            exit
            ;;
    esac
    [[ ${1:-} && $1 != -* ]] || die 2 'no matrix given; try --help'
    local client server
    client=$(program bench-client "$programs") || exit
    server=$(program bench-server "$programs") || exit
    exec "$here/run.sh" \
        --server "exec $(printf '%q' "$server") --bind $SERVER_ADDRESS >/dev/null" -- \
        "$client" matrix "$@" --server "$SERVER_ADDRESS" --shape "$here/shape.sh"
}

program() { # NAME FOLDER
    local found
    if [[ $2 ]]; then
        found=$2/$1
    else
        found=$(command -v "$1") || found=$here/../target/release/$1
    fi
    [[ -x $found ]] ||
        die 2 "no $1 found; run \`cargo build --release\`, or use --programs DIR"
    readlink -f "$found"
}

main "$@"
