#!/usr/bin/env bash
# Compares links of crates/link-sim with the same links of a kernel's netem: 100,000 packets over
# each of the kernel's, the same packets over ours, and a table of both. The kernel is the guest of
# `vm.sh --virtual-time`, or this machine's own.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=kernel.sh
source "$here/kernel.sh"

USAGE="usage: compare.sh [OPTION...] ['GAP LINK'...]
  GAP LINK        mean time between two packets and a LINK in netem's words, such as
                  '1ms delay 50ms 20ms'; the links of docs/netem-comparison.md by default
  --packets N     packets over each link; 100000 by default
  --runs N        runs of link-sim, each with its own seed; 100 by default
  --keep DIR      keep the packets' times in DIR, as N.trace
  --program FILE  link-sim's example against_netem; built if not given
  --here          use this machine's kernel, as root, and tolerate its own delays of up to 1 ms
Exit code: 0 when all agree, 1 when something differs, 2 when something is missing or a LINK is
wrong, else that of vm.sh or the probe."

# At least one for each of netem's rules. A packet has 798 bytes on average: the loads of a rate are
# 0.8, 1.06 or with copies 1.28, which fill the link up to its limit, and 0.91.
LINKS=(
    '1ms delay 50ms 20ms'
    '1ms delay 50ms 10ms distribution normal loss 3%'
    '400us delay 50ms 20ms rate 20mbit limit 1000'
    '1ms delay 10ms reorder 25% gap 5'
    '1ms loss gemodel 1% 10% 70% 0.1%'
    '60us delay 20ms loss 1% rate 100mbit limit 1000'
    '70us delay 20ms loss 1% duplicate 1% rate 100mbit limit 1000'
    '300us duplicate 20% rate 20mbit limit 100'
    '500us delay 20ms 5ms distribution pareto'
    '500us delay 20ms 5ms distribution paretonormal'
    '1ms delay 50ms 10ms 25%'
    '1ms delay 10ms reorder 25% 50% gap 5'
    '1ms loss 20% 25%'
    '1ms loss state 1% 20% 10% 5% 0.5%'
    '1ms delay 5ms corrupt 5%'
    '400us rate 20mbit 8 48 5'
    '1ms delay 10ms slot 10ms 20ms packets 20'
)

main() {
    local packets=100000 runs=100 status=0 number=0 link
    while (($#)); do
        case $1 in
            --packets)
                packets=$(number 1 "$@")
                shift
                ;;
            --runs)
                runs=$(number 1 "$@")
                shift
                ;;
            --keep)
                KEEP=$(option "$@")
                shift
                ;;
            --program)
                PROGRAM=$(option "$@")
                shift
                ;;
            --here) KERNEL=(env) CLOCK=1ms ;;
            -h | --help)
                printf '%s\n' "$USAGE"
                exit
                ;;
            -*) die 2 "unknown option \`$1\`; try --help" ;;
            *) break ;;
        esac
        shift
    done
    (($#)) || set -- "${LINKS[@]}"
    prepare
    for link in "$@"; do
        number=$((number + 1))
        measure "$link" "$packets" "$KEEP/$number.trace"
        "$PROGRAM" compare --runs "$runs" --clock "$CLOCK" "${link#* }" "$KEEP/$number.trace" ||
            status=$?
    done
    exit "$status"
}

prepare() {
    command -v tc >/dev/null || die 2 'not installed: tc; apt-get install iproute2'
    [[ $PROGRAM ]] || PROGRAM=$(build)
    PROGRAM=$(readlink -f "$PROGRAM")
    if [[ ! $KEEP ]]; then
        KEEP=$(mktemp -d)
        trap 'rm -rf "$KEEP"' EXIT
    fi
    mkdir -p "$KEEP"
    KEEP=$(readlink -f "$KEEP")
    if ((${#KERNEL[@]} == 0)); then
        KERNEL=("$here/vm.sh" --virtual-time --seconds 1800 --writable "$KEEP")
    fi
    local release
    release=$("${KERNEL[@]}" uname -r) || exit
    printf 'Linux %s, %s.\n\n' "${release//$'\n'/}" "$(tc -Version | sed 's/^tc utility, //')"
}

build() {
    command -v cargo >/dev/null || die 2 'not installed: cargo'
    cargo build --quiet --release --manifest-path "$here/../Cargo.toml" -p paceline-link-sim \
        --example against_netem --message-format json |
        sed -n 's/.*"name":"against_netem".*"executable":"\([^"]*\)".*/\1/p'
}

# A namespace whose loopback has no other traffic, and a qdisc from before the first packet on.
measure() { # 'GAP LINK' PACKETS TRACE
    local words
    read -ra words <<<"$1"
    # shellcheck disable=SC2016 # It is for the shell inside.
    "${KERNEL[@]}" unshare --net sh -ec '
        trace=$1 packets=$2 program=$3 gap=$4
        shift 4
        ip link set lo up
        tc qdisc replace dev lo root netem "$@"
        "$program" probe --packets "$packets" --gap "$gap" "$trace"' \
        sh "$3" "$2" "$PROGRAM" "${words[@]}" | sed '/^$/d' >&2 ||
        die $? "no packets measured over link \`${1#* }\`"
}

KERNEL=()
KEEP=
PROGRAM=
# The guest's clock advances by 256 ns.
CLOCK=1us

main "$@"
