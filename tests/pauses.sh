#!/usr/bin/env bash
# A sender whose process has no CPU for a part of each period, as with a quota of CPU time: stopped
# and continued over an emulated link. Prints what arrives, and the RTTs that the sender has seen.
#
# tests/pauses.sh PAUSE PERIOD CONTROLLER...    in ms, as `tests/pauses.sh 50 100 paceline cubic`
set -euo pipefail
if [ $# -lt 3 ]; then
    echo "usage: tests/pauses.sh PAUSE PERIOD CONTROLLER..., times in ms" >&2
    exit 2
fi
pause=$1 period=$2
shift 2
link="delay 15ms rate 100mbit queue 1bdp" back="delay 15ms" seconds=8
command -v jq > /dev/null || { echo "error: there is no jq; install it" >&2; exit 2; }
if [[ ! "$pause $period" =~ ^[0-9]{1,5}\ [0-9]{1,5}$ ]] || ((10#$pause >= 10#$period)); then
    echo "error: a pause of $pause ms in $period ms: expected a whole number and a larger one" >&2
    exit 2
fi
cd "$(dirname "$0")/.."
cargo build -q --release -p bench-client -p bench-server -p paceline-link-sim --bins
bin=$PWD/target/release
scratch=$(mktemp -d) started=()
trap 'kill "${started[@]}" 2> /dev/null || true
    kill -CONT "${started[@]}" 2> /dev/null || true
    rm -r "$scratch"' EXIT
"$bin/bench-server" --bind 127.0.0.1 --port 5381 > /dev/null 2>&1 &
started+=($!)
"$bin/link-relay" --listen 127.0.0.1:5382 --to 127.0.0.1:5381 --return-link "$back" "$link" \
    > /dev/null < /dev/null &
started+=($!)
sleep 1
for program in "${started[@]}"; do
    kill -0 "$program" 2> /dev/null || {
        echo "error: UDP port 5381 or 5382 of 127.0.0.1 is taken; end what has it" >&2
        exit 1
    }
done
ms() { printf '%d.%03d' $((10#$1 / 1000)) $((10#$1 % 1000)); }
printf '%s, return %s; away for %s of %s ms\n' "$link" "$back" "$pause" "$period"
for controller in "$@"; do
    "$bin/bench-client" run 127.0.0.1:5382 --cc "$controller" -t $seconds -i 0 -J \
        > "$scratch/result" 2> "$scratch/errors" &
    client=$!
    started+=("$client")
    while sleep "$(ms $((10#$period - 10#$pause)))" && kill -STOP "$client" 2> /dev/null; do
        sleep "$(ms "$pause")"
        kill -CONT "$client" 2> /dev/null || true
    done
    wait "$client" || { cat "$scratch/errors" >&2; exit 1; }
    jq -r --arg name "$controller" '.end | [$name,
        (.sum_received.bits_per_second / 1e5 | round / 10 | "\(.) Mbit/s"),
        (.streams[0].sender | "RTT \(.min_rtt / 1e3 | round) to \(.max_rtt / 1e3 | round) ms")]
        | join("  ")' "$scratch/result"
done
