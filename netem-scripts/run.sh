#!/usr/bin/env bash
# Runs COMMAND over a path that is shaped as LINK says, and takes the path away afterwards.
# Functions that only traps call look unreachable to shellcheck.
# shellcheck disable=SC2317
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=lib.sh
source "$here/lib.sh"

USAGE="usage: run.sh [--return-link LINK] [--server COMMAND] [LINK] -- COMMAND [ARG...]
  LINK                link to the server, e.g. delay 20ms rate 100mbit queue 1bdp
  --return-link LINK  link back to the client; none by default
  --server COMMAND    shell command for the server's namespace; COMMAND after -- starts once it
                      listens, and it is stopped when COMMAND exits
Both commands get the addresses in PACELINE_SERVER and PACELINE_CLIENT, and in PACELINE_NAME the
path's name, with which shape.sh changes its links.
Exit code: that of COMMAND; 1 when the path failed; 2 for a wrong LINK or a missing program."

main() {
    local return_link='' link=() server=''
    local arguments=("$@")
    while (($#)); do
        case $1 in
            --return-link)
                return_link=$(option "$@")
                shift
                ;;
            --server)
                server=$(option "$@")
                shift
                ;;
            -h | --help)
                printf '%s\n' "$USAGE"
                exit
                ;;
            --) break ;;
            -*) die 2 "unknown option \`$1\`; try --help" ;;
            *) link+=("$1") ;;
        esac
        shift
    done
    (($# > 1)) || die 2 "no COMMAND after \`--\`; try --help"
    shift
    plan "${link[*]}" "$return_link"
    require_everything
    become_root "${arguments[@]}"
    NAME=paceline-$$
    export PACELINE_NAME=$NAME PACELINE_SERVER=$SERVER_ADDRESS PACELINE_CLIENT=$CLIENT_ADDRESS
    trap finish EXIT
    trap 'forward TERM' TERM HUP
    # A terminal sends it to COMMAND as well, which may take its time to end in order.
    trap '[[ $CLIENT_PID ]] || exit 130' INT
    make_path
    shape
    show
    verify
    [[ -z $server ]] || start_server "$server"
    run_client "$@"
}

# Without root, or as the root of a user namespace alone: once more where /run is ours.
become_root() {
    local as=(--map-root-user)
    [[ ! ${PACELINE_OWN_RUN:-} ]] || return 0
    if ((EUID == 0)); then
        as=()
        # The machine's own root has all of the users.
        [[ $(</proc/self/uid_map) != *\ 4294967295 ]] || return 0
    fi
    # shellcheck disable=SC2016 # The inner shell expands it.
    PACELINE_OWN_RUN=yes exec unshare "${as[@]}" --net --mount -- \
        bash -c 'mount -t tmpfs tmpfs /run && exec bash "$@"' - "$here/run.sh" "$@"
}

SERVER_PID=
CLIENT_PID=

start_server() { # SHELL_COMMAND
    local tries
    # Its own session, so that all it starts can be ended.
    setsid nsenter "--net=/run/netns/$NAME-server" -- sh -c "$1" &
    SERVER_PID=$!
    # 5 s; a program that opens its port later has to be waited for by COMMAND.
    for ((tries = 0; tries < 100; tries++)); do
        [[ -z $(in_namespace server ss -Hlntu) ]] || return 0
        kill -0 "$SERVER_PID" 2>/dev/null || die 1 "the server exited before it listened: $1"
        sleep 0.05
    done
    printf '%s: warning: the server does not listen after 5 s: %s\n' "${0##*/}" "$1" >&2
}

run_client() { # COMMAND...
    local status=0
    # In the background, so that a signal to this script is acted on at once.
    env --default-signal=INT,QUIT nsenter "--net=/run/netns/$NAME-client" -- "$@" <&0 &
    CLIENT_PID=$!
    while :; do
        wait "$CLIENT_PID" && status=0 || status=$?
        kill -0 "$CLIENT_PID" 2>/dev/null || break
    done
    CLIENT_PID=
    exit "$status"
}

forward() { # SIGNAL
    if [[ $CLIENT_PID ]]; then
        kill -s "$1" "$CLIENT_PID" 2>/dev/null || true
    else
        exit 143
    fi
}

finish() {
    local tries
    if [[ $SERVER_PID ]]; then
        kill -s TERM -- "-$SERVER_PID" 2>/dev/null || true
        for ((tries = 0; tries < 40; tries++)); do
            kill -s 0 -- "-$SERVER_PID" 2>/dev/null || break
            sleep 0.05
        done
        kill -s KILL -- "-$SERVER_PID" 2>/dev/null || true
        wait "$SERVER_PID" 2>/dev/null || true
    fi
    remove
}

main "$@"
