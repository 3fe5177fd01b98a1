#!/usr/bin/env bash
# Shapes the path anew that run.sh or up.sh made, and says so; what was on the way is lost.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=lib.sh
source "$here/lib.sh"

USAGE="usage: shape.sh LINK [RETURN_LINK]
  LINK         new link to the server; '' for none
  RETURN_LINK  new link back to the client; none by default
Changes the path PACELINE_NAME, which run.sh sets for its COMMAND; paceline by default.
Exit code: 0; 1 when there is no such path, or pings do not match it; 2 for a wrong LINK."

case ${1:-} in
    -*)
        printf '%s\n' "$USAGE"
        [[ $1 == -h || $1 == --help ]] || exit 2
        exit
        ;;
esac
(($# == 1 || $# == 2)) || die 2 'expected a LINK and at most a RETURN_LINK; try --help'
NAME=${PACELINE_NAME:-$NAME}
plan "$1" "${2:-}"
exists || die 1 "no path \`$NAME\`; create it with up.sh"
clear_shapes
shape
show
verify
