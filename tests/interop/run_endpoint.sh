#!/usr/bin/env bash
# An endpoint as the QUIC interop runner starts it: `ROLE`, `TESTCASE` and, for a client, `REQUESTS`
# say what is to be done. Outside the runner's network `WWW`, `CERTS`, `DOWNLOADS` and `PORT` say
# where, and `INTEROP_ENDPOINT` which program it is.
set -Eeuo pipefail

# Routes through the runner's network simulator; they are part of its image.
if [[ -x /setup.sh ]]; then
    /setup.sh
fi

arguments=(--www "${WWW:-/www}" --certs "${CERTS:-/certs}" --downloads "${DOWNLOADS:-/downloads}"
    --port "${PORT:-443}")
case ${ROLE:?it has to be client or server} in
client)
    if [[ -x /wait-for-it.sh ]]; then
        /wait-for-it.sh sim:57832 -s -t 30
    fi
    # The endpoint refuses to fetch nothing, but first a case that it does not know: the runner
    # gives no `REQUESTS` when it checks that such a one ends with 127.
    read -ra more <<<"${CLIENT_PARAMS:-} ${REQUESTS:-}"
    ;;
server) read -ra more <<<"${SERVER_PARAMS:-}" ;;
*)
    echo "ROLE is \`$ROLE\`, and has to be client or server" >&2
    exit 127
    ;;
esac
exec "${INTEROP_ENDPOINT:-interop_endpoint}" "${arguments[@]}" "${more[@]}"
