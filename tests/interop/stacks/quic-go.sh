#!/usr/bin/env bash
# quic-go's own endpoints of the interop runner, from its Go module, with the directories and the
# port of this run instead of those of its container. `quic-go.sh prepare` builds them.
set -Eeuo pipefail
built=${STACKS:?where what is built is kept}/quic-go
version=v0.65.0

if [[ ${1:-} == prepare ]]; then
    [[ -x $built/server && $(cat "$built/version") == "$version" ]] && exit
    command -v go >/dev/null || { echo "no Go" >&2; exit 1; }
    rm -rf "$built" && mkdir -p "$built"
    module=github.com/quic-go/quic-go
    source=$(cd "$built" && go mod download -json "$module@$version" |
        sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
    cp -r "$source" "$built/source" && chmod -R u+w "$built/source"
    cd "$built/source"
    sed -i -e 's|"/logs/log.txt"|os.DevNull|' -e 's|":443"|":" + os.Getenv("PORT")|' \
        -e 's|"/certs/|os.Getenv("CERTS") + "/|g' -e 's|"/www"|os.Getenv("WWW")|' \
        -e 's|"/downloads" +|os.Getenv("DOWNLOADS") +|' \
        interop/client/main.go interop/server/main.go
    go build -o "$built/client" ./interop/client
    go build -o "$built/server" ./interop/server
    chmod -R u+w "$built/source" && rm -rf "$built/source"
    echo "$version" >"$built/version"
    exit
fi

# It marks in every case.
if [[ $TESTCASE == ecn ]]; then
    export TESTCASE=transfer
fi
if [[ $ROLE == client ]]; then
    # Its client has no option for windows.
    [[ -z ${WINDOW:-} ]] || exit 127
    read -ra requests <<<"${REQUESTS:?no URLs}"
    exec "$built/client" "${requests[@]}"
fi
exec "$built/server"
