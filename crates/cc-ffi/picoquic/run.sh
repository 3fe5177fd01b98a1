#!/usr/bin/env bash
# Our controllers in picoquic beside its own, in its own simulator.
#
#   crates/cc-ffi/picoquic/run.sh PICOQUIC [PICOTLS]
#
# PICOQUIC is a clone of github.com/private-octopus/picoquic, PICOTLS one of github.com/h2o/picotls;
# without it picoquic's build fetches that. Both are built as they are, in a folder of their own;
# adapter.c is linked to them. A download of 20 MB is simulated over links of 20 Mbit/s and 40 ms,
# and what is printed is its goodput: the median of five rounds, and the least and greatest. Time is
# virtual; picoquic's keys and connection IDs are not the same in each round.
set -euo pipefail

usage="usage: crates/cc-ffi/picoquic/run.sh PICOQUIC [PICOTLS]"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
picoquic=$(cd "${1:?$usage}" && pwd)
root=$(cd "$here/../../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
bytes=20000000
rounds=5
# `picoquic-` marks picoquic's own.
controllers=(picoquic-newreno new_reno picoquic-cubic cubic picoquic-bbr1 bbr1 picoquic-bbr bbr3
    paceline)

if [[ ! -f $picoquic/p_sim/pico_sim.c ]]; then
    echo "$picoquic has no p_sim/pico_sim.c; name a clone of" \
        "github.com/private-octopus/picoquic" >&2
    exit 2
fi
options=(-DCMAKE_BUILD_TYPE=Release -DPICOQUIC_FETCH_PTLS=ON -Dpicoquic_BUILD_TESTS=OFF
    -DDISABLE_DEBUG_PRINTF=ON)
if [[ -n ${2:-} ]]; then
    options+=("-DFETCHCONTENT_SOURCE_DIR_PICOTLS=$(cd "$2" && pwd)")
fi

build=$target/picoquic
mkdir -p "$build"
cargo build --release --manifest-path "$root/Cargo.toml" --target-dir "$target" \
    --package paceline-cc-ffi >&2
cmake -S "$picoquic" -B "$build" "${options[@]}" >"$build/cmake.log"
cmake --build "$build" --target pico_sim --parallel "$(nproc)" >"$build/build.log"

# The libraries that picoquic's own pico_sim is linked to.
mapfile -t libraries < <(find "$build" -name 'lib*.a' | sort)
cc -O2 -std=gnu11 -Wall -Wextra -I "$here/../include" -I "$picoquic/picoquic" \
    -I "$picoquic/picohttp" -I "$picoquic/loglib" "$here/adapter.c" "$picoquic/p_sim/pico_sim.c" \
    -Wl,--wrap=picoquic_update_pacing_after_send \
    -Wl,--wrap=picoquic_register_all_congestion_control_algorithms \
    -Wl,--start-group "${libraries[@]}" -Wl,--end-group "$target/release/libpaceline_cc.a" \
    -lssl -lcrypto -lpthread -ldl -lm -o "$build/pico_sim_with_paceline"

# Goodput in Mbit/s: `simulate CONTROLLER LINK`.
simulate() {
    local algorithm=paceline option=$1
    case $1 in
        picoquic-*) algorithm=${1#picoquic-} option= ;;
    esac
    {
        printf 'main_cc_algo: %s\n' "$algorithm"
        [[ -z $option ]] || printf 'main_cc_options: %s\n' "$option"
        printf 'main_scenario_text: =b1:*1:397:%d;\n' "$bytes"
        printf 'nb_connections: 1\nmain_target_time: 600000000\nlink_scenario: %s\n' "$2"
    } >"$build/spec.txt"
    local result
    if ! result=$("$build/pico_sim_with_paceline" -S "$picoquic" "$build/spec.txt" \
        2>"$build/sim.log"); then
        cat "$build/sim.log" >&2
        return 1
    fi
    # "Success, ROUND, MICROSECONDS, …"
    awk -F', ' -v bytes="$bytes" '{ printf "%.1f\n", bytes * 8 / $3 }' <<<"$result"
}

# Median, least and greatest of the rounds: `summary CONTROLLER LINK`.
summary() {
    local round
    for ((round = 0; round < rounds; round++)); do
        simulate "$1" "$2" || exit 1
    done | sort -n | awk '{ value[NR] = $1 }
        END { printf "%.1f (%.1f to %.1f)", value[int((NR + 1) / 2)], value[1], value[NR] }'
}

# Rate down and up in Gbit/s, one-way delay and queue in microseconds; every hundredth packet lost.
link=600000000:D0.02:U0.02:L20000:Q40000
echo "| controller | no loss | every hundredth packet lost | queue of a tenth |"
echo "|---|---|---|---|"
for controller in "${controllers[@]}"; do
    row=
    for loss in "$link" "$link:B1:P100" "${link/Q40000/Q4000}"; do
        row+=" $(summary "$controller" "$loss") |"
    done
    echo "| \`$controller\` |$row"
done
