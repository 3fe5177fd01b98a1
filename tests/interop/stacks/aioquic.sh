#!/usr/bin/env bash
# aioquic by the examples of its source package: the client and server that its container has, too.
# `aioquic.sh prepare` installs it in an environment of its own.
set -Eeuo pipefail
built=${STACKS:?where what is built is kept}/aioquic
version=1.7.2

if [[ ${1:-} == prepare ]]; then
    [[ -d $built/examples && $(cat "$built/version") == "$version" ]] && exit
    command -v python3 >/dev/null || { echo "no Python" >&2; exit 1; }
    rm -rf "$built" && mkdir -p "$built"
    python3 -m venv "$built/python"
    "$built/python/bin/pip" --quiet install "aioquic==$version" starlette wsproto jinja2
    "$built/python/bin/pip" --quiet download --no-deps --no-binary :all: -d "$built" \
        "aioquic==$version"
    tar -xzf "$built/aioquic-$version.tar.gz" -C "$built" --strip-components 1 \
        "aioquic-$version/examples"
    rm "$built/aioquic-$version.tar.gz"
    echo "$version" >"$built/version"
    exit
fi

python=$built/python/bin/python
cd "$built/examples"
if [[ $ROLE == server ]]; then
    options=()
    case $TESTCASE in
    handshake | transfer | keyupdate | multiconnect | resumption | zerortt | http3) ;;
    retry) options+=(--retry) ;;
    *) exit 127 ;;
    esac
    STATIC_ROOT=$WWW exec "$python" http3_server.py --host :: --port "$PORT" \
        --certificate "$CERTS/cert.pem" --private-key "$CERTS/priv.key" "${options[@]}"
fi

read -ra requests <<<"${REQUESTS:?no URLs}"
fetch() { "$python" http3_client.py --insecure --output-dir "$DOWNLOADS" "${options[@]}" "$@"; }
options=(--legacy-http)
if [[ -n ${WINDOW:-} ]]; then
    options+=(--max-data "$WINDOW" --max-stream-data "$WINDOW")
fi
case $TESTCASE in
handshake | transfer | retry) ;;
keyupdate) options+=(--key-update) ;;
chacha20) options+=(--cipher-suites CHACHA20_POLY1305_SHA256) ;;
http3) options=("${options[@]:1}") ;;
multiconnect)
    for request in "${requests[@]}"; do
        fetch "$request"
    done
    exit
    ;;
resumption | zerortt)
    options+=(--session-ticket "$DOWNLOADS/.ticket")
    fetch "${requests[0]}"
    [[ $TESTCASE == zerortt ]] && options+=(--zero-rtt)
    fetch "${requests[@]:1}"
    exit
    ;;
*) exit 127 ;;
esac
fetch "${requests[@]}"
