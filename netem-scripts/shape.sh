#!/usr/bin/env bash
# Shapes the path anew that run.sh or up.sh made, and says so; what was on the way is lost.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=lib.sh
source "$here/lib.sh"

USAGE="usage: shape.sh LINK [RETURN_LINK]
  LINK         what happens on the way to the server, from now on; nothing when it is empty
  RETURN_LINK  what happens on the way back; nothing by default
The path is that of PACELINE_NAME, which run.sh tells its COMMAND; paceline by default.
Exit code: 0; 1 when there is no such path, or a ping finds it wrong; 2 for a wrong LINK."

case ${1:-} in
    -*)
        printf '%s\n' "$USAGE"
        [[ $1 == -h || $1 == --help ]] || exit 2
        exit
        ;;
esac
(($# == 1 || $# == 2)) || die 2 'there has to be a LINK, and at most two; try --help'
NAME=${PACELINE_NAME:-$NAME}
plan "$1" "${2:-}"
exists || die 1 "\`$NAME\` is not up"
clear_shapes
shape
show
verify
