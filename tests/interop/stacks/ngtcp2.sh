#!/usr/bin/env bash
# ngtcp2's example client and server, as Debian packages them. They speak HTTP/3 alone.
set -Eeuo pipefail
# Debian has servers there, and not everybody looks for programs in it.
PATH=$PATH:/usr/sbin

if [[ ${1:-} == prepare ]]; then
    for program in gtlsclient gtlsserver; do
        command -v "$program" >/dev/null && continue
        echo "no $program: install ngtcp2-client and ngtcp2-server" >&2
        exit 1
    done
    exit
fi

# As ngtcp2's own script for the interop runner: a handshake that loses a third of its packets may
# take longer than the 10 s that there are without this, and its first probe is due after 1 s.
patience=(--timeout 180s --handshake-timeout 180s --initial-rtt 100ms)
if [[ $ROLE == server ]]; then
    options=()
    case $TESTCASE in
    handshake | transfer | ecn | http3 | resumption | zerortt | keyupdate) ;;
    multiconnect) options+=("${patience[@]}") ;;
    retry) options+=(--validate-addr) ;;
    chacha20) options+=(--ciphers "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+CHACHA20-POLY1305") ;;
    *) exit 127 ;;
    esac
    exec gtlsserver --quiet "${options[@]}" --htdocs "$WWW" '*' "$PORT" \
        "$CERTS/priv.key" "$CERTS/cert.pem"
fi

read -ra requests <<<"${REQUESTS:?no URLs}"
authority=${requests[0]#https://}
authority=${authority%%/*}
host=${authority%:*}
host=${host#[}
host=${host%]}
fetch() {
    gtlsclient --quiet --exit-on-all-streams-close --download "$DOWNLOADS" "${options[@]}" \
        "$host" "${authority##*:}" "$@"
}
options=()
if [[ -n ${WINDOW:-} ]]; then
    options+=("--max-data=$WINDOW" "--max-stream-data-bidi-local=$WINDOW")
fi
case $TESTCASE in
handshake | transfer | ecn | http3 | retry) options+=(--disable-early-data) ;;
keyupdate) options+=(--key-update 1ms) ;;
chacha20) options+=(--ciphers "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+CHACHA20-POLY1305") ;;
connectionmigration) options+=(--change-local-addr 20ms) ;;
v2) options+=(--version v2draft) ;;
multiconnect)
    options+=("${patience[@]}")
    for request in "${requests[@]}"; do
        fetch "$request"
    done
    exit
    ;;
resumption | zerortt)
    options+=(--session-file "$DOWNLOADS/.session" --tp-file "$DOWNLOADS/.parameters")
    [[ $TESTCASE == resumption ]] && options+=(--disable-early-data)
    fetch "${requests[0]}"
    fetch "${requests[@]:1}"
    exit
    ;;
*) exit 127 ;;
esac
fetch "${requests[@]}"
