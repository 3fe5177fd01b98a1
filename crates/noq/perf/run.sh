#!/usr/bin/env bash
# noq's own perf program under our controllers and its own, over loopback.
#
#   crates/noq/perf/run.sh CHECKOUT [ROUNDS [SECONDS]]
#
# CHECKOUT is a clone of github.com/n0-computer/noq. Its program is built as it is there; noq itself
# is the release from the registry that crates/noq depends on. A download is measured, without its
# first second: the server's controller matters. Rounds take turns. CPU time is the server's, over
# the whole download; Linux only.
set -euo pipefail

usage="usage: crates/noq/perf/run.sh CHECKOUT [ROUNDS [SECONDS]]"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
checkout=$(cd "${1:?$usage}" && pwd)
rounds=${2:-5}
seconds=${3:-8}
# `noq-` marks noq's own.
controllers=(noq-cubic cubic noq-bbr3 bbr3 paceline)

if [[ ! -f $checkout/perf/src/bin/perf.rs ]]; then
    echo "$checkout has no perf/src/bin/perf.rs; name a clone of github.com/n0-computer/noq" >&2
    exit 2
fi

work=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT

# The program takes from a crate named noq what it offers; that crate is choice.rs here.
mkdir "$work/choice" "$work/perf"
cat >"$work/choice/Cargo.toml" <<MANIFEST
[package]
name = "noq-with-a-choice"
version = "0.0.0"
edition = "2024"

[lib]
path = "$here/choice.rs"

[dependencies]
noq = { version = "1.4", default-features = false, features = ["runtime-tokio", "rustls-ring"] }
paceline-noq = { path = "$here/.." }
MANIFEST
cat >"$work/perf/Cargo.toml" <<MANIFEST
[package]
name = "perf"
version = "0.0.0"
edition = "2021"

[workspace]

[lib]
path = "$checkout/perf/src/lib.rs"

[[bin]]
name = "noq-perf"
path = "$checkout/perf/src/bin/perf.rs"

[features]
default = ["json-output"]
json-output = []
qlog = []
tokio-console = []

[dependencies]
anyhow = "1"
bytes = "1"
clap = { version = "4", features = ["derive"] }
hdrhistogram = { version = "7", default-features = false }
noq = { package = "noq-with-a-choice", path = "../choice" }
noq-proto = { version = "1.4", default-features = false, features = ["rustls-ring"] }
rcgen = "0.14"
rustls = { version = "0.23", default-features = false, features = ["ring", "std"] }
serde = { version = "1", features = ["derive"] }
serde_json = "1"
socket2 = "0.6"
tokio = { version = "1", features = ["macros", "net", "rt", "signal", "sync", "time"] }
tracing = "0.1"
tracing-subscriber = { version = "0.3", features = ["env-filter", "fmt"] }
MANIFEST
target=${CARGO_TARGET_DIR:-$here/../target}/noq-perf
cargo build --release --manifest-path "$work/perf/Cargo.toml" --target-dir "$target"
program=$target/release/noq-perf

# Goodput in Mbit/s, and the server's CPU time in ms per GB: `measure CONTROLLER`.
measure() {
    local congestion=cubic own=
    case $1 in
        noq-*) congestion=${1#noq-} ;;
        *) own=$1 ;;
    esac
    # Of its choice is a port that nobody has.
    env ${own:+PERF_CONTROLLER=$own} RUST_LOG=perf=info,warn NO_COLOR=1 "$program" server \
        --listen 127.0.0.1:0 --congestion "$congestion" >"$work/server.log" &
    server=$!
    local port='' tries
    for ((tries = 0; tries < 100; tries++)); do
        port=$(sed -n 's/.*listening on 127\.0\.0\.1:\([0-9]*\).*/\1/p' "$work/server.log")
        [[ -z $port ]] || break
        sleep 0.05
    done
    if [[ -z $port ]]; then
        echo "noq-perf's server under $1 does not listen; it says:" >&2
        cat "$work/server.log" >&2
        return 1
    fi
    "$program" client --ip 127.0.0.1 --duration "$seconds" --congestion cubic \
        --download-size 1T --upload-size 0 --json "$work/result.json" "localhost:$port" >/dev/null
    local ticks
    ticks=$(awk '{ print $14 + $15 }' "/proc/$server/stat")
    kill "$server"
    wait "$server" 2>/dev/null || true
    server=
    # The sum of each second.
    grep -o '"sum":{[^}]*}' "$work/result.json" |
        sed 's/.*"bytes":\([0-9]*\),"bits_per_second":\([0-9.e+]*\).*/\1 \2/' |
        awk -v seconds="$(awk -v ticks="$ticks" -v hz="$(getconf CLK_TCK)" \
            'BEGIN { print ticks / hz }')" '
            { bytes += $1 }
            NR > 1 { rate += $2 }
            END {
                if (NR < 2 || bytes == 0) exit 1
                printf "%.0f %.0f\n", rate / (NR - 1) / 1e6, seconds * 1e12 / bytes
            }'
}

for ((round = 0; round < rounds; round++)); do
    for controller in "${controllers[@]}"; do
        measure "$controller" >"$work/goodput"
        cat "$work/goodput" >>"$work/$controller"
    done
done

# Median, least and greatest of column COLUMN: `summary CONTROLLER COLUMN`.
summary() {
    cut -d' ' -f"$2" "$work/$1" | sort -n | awk '{ value[NR] = $1 }
        END {
            median = (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2
            printf "%.0f | %d to %d", median, value[1], value[NR]
        }'
}

echo "| controller | goodput, Mbit/s | least to most | CPU, ms/GB | least to most |"
echo "|---|---|---|---|---|"
for controller in "${controllers[@]}"; do
    echo "| \`$controller\` | $(summary "$controller" 1) | $(summary "$controller" 2) |"
done
