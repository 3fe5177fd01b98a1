#!/usr/bin/env bash
# Takes away what up.sh built. Nothing there is no error.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=lib.sh
source "$here/lib.sh"

case ${1:-} in
    -*)
        echo "usage: down.sh [NAME]      the NAME given to up.sh; default paceline"
        [[ $1 == -h || $1 == --help ]] || exit 2
        exit
        ;;
esac
NAME=${1:-$NAME}
if exists; then
    ((EUID == 0)) || die 2 "needs root, like up.sh"
    remove
fi
