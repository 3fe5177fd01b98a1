#!/usr/bin/env bash
# Builds a path that is shaped as LINK says, and leaves it until down.sh takes it away.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=lib.sh
source "$here/lib.sh"

USAGE="usage: up.sh [--name NAME] [--return-link LINK] [--print] LINK
       up.sh --check
  LINK                link to the server, e.g. delay 20ms rate 100mbit queue 1bdp
  --return-link LINK  link back to the client; none by default
  --name NAME         the namespaces are NAME-client, NAME-link, NAME-server; default paceline
  --print             print the commands instead of running them; needs no privilege
  --check             only check whether this machine has everything needed"

main() {
    local return_link='' check=
    while (($#)); do
        case $1 in
            --name)
                NAME=$(option "$@")
                shift
                ;;
            --return-link)
                return_link=$(option "$@")
                shift
                ;;
            --print) PRINT_ONLY=yes ;;
            --check) check=yes ;;
            -h | --help)
                printf '%s\n' "$USAGE"
                exit
                ;;
            -*) die 2 "unknown option \`$1\`; try --help" ;;
            *) break ;;
        esac
        shift
    done
    if [[ $check ]]; then
        require_everything
        return
    fi
    [[ $NAME =~ ^[a-z][a-z0-9-]{0,40}$ ]] ||
        die 2 "\`$NAME\` is not a name: use lowercase letters and digits only"
    plan "$*" "$return_link"
    [[ $PRINT_ONLY ]] || prepare
    make_path
    shape
    [[ $PRINT_ONLY ]] || finish
}

prepare() {
    require_everything
    ! exists || die 1 "path \`$NAME\` exists; remove it with netem-scripts/down.sh $NAME"
    if ! ip netns add "$NAME-client" 2>/dev/null; then
        die 2 "needs root, or \`unshare -rnm\` and a tmpfs on /run; or use run.sh"
    fi
    ip netns delete "$NAME-client"
    trap remove EXIT
}

finish() {
    show
    verify
    trap - EXIT
    printf 'PACELINE_SERVER=%s PACELINE_CLIENT=%s; ip netns exec %s-client COMMAND\n' \
        "$SERVER_ADDRESS" "$CLIENT_ADDRESS" "$NAME"
}

main "$@"
