#!/usr/bin/env bash
# The kernel's own TCP over the same links: iperf3 with each of its controllers, a row for each, to
# put beside what Paceline's do. In the guest of `vm.sh --virtual-time`, or on this machine's own
# kernel.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=kernel.sh
source "$here/kernel.sh"

USAGE="usage: kernel-tcp.sh [OPTION...] LINK...
  LINK                link in the direction of the data, such as 'delay 50ms loss 1% rate 100mbit
                      queue 1bdp'; prints a row per LINK and controller
  --return-link LINK  link in the other direction, for every LINK; none by default
  --cc NAME,NAME...   the kernel's controllers; cubic,bbr by default
  --seconds N         seconds measured in each round; 20 by default
  --omit N            seconds of warm-up before the measurement; 2 by default
  --rounds N          rounds per row, which shows medians and the range of goodput; 1 by default
  --streams N         TCP connections at once; 1 by default
  --csv FILE          write one CSV row per round
  --link-relay        links by link-relay tun, as tc has no \`trace\`, \`radio\`, \`loss packets\`
  --here              use this machine's kernel in real time, as root or in a user namespace
Exit code: 0; 1 when a round failed; 2 when something is missing or an option is wrong."

main() {
    while (($#)); do
        case $1 in
            --seconds | --rounds | --streams)
                SETTINGS[${1#--}]=$(number 1 "$@")
                shift
                ;;
            --omit)
                SETTINGS[omit]=$(number 0 "$@")
                shift
                ;;
            --return-link | --cc | --csv)
                SETTINGS[${1#--}]=$(option "$@")
                shift
                ;;
            --here) HERE=yes ;;
            --link-relay) BY_RELAY=yes ;;
            -h | --help)
                printf '%s\n' "$USAGE"
                exit
                ;;
            -*) die 2 "unknown option \`$1\`; try --help" ;;
            *) break ;;
        esac
        shift
    done
    (($#)) || die 2 "no LINK given; try --help"
    prepare
    printf '%s\n' "$HEADING" >"$WORK/rounds.csv"
    local link
    for link in "$@"; do
        measure "$link"
    done
    if [[ ${SETTINGS[csv]:-} ]]; then
        cp "$WORK/rounds.csv" "${SETTINGS[csv]}" || die 1 "cannot write ${SETTINGS[csv]}"
    fi
}

prepare() {
    local program missing=()
    for program in iperf3 jq; do
        command -v "$program" >/dev/null || missing+=("$program")
    done
    ((${#missing[@]} == 0)) || die 2 "not installed; apt-get install ${missing[*]}"
    [[ ! $BY_RELAY ]] || LINK_RELAY=$(link_relay) || exit
    [[ ${SETTINGS[cc]} =~ ^[a-z0-9_]+(,[a-z0-9_]+)*$ ]] ||
        die 2 "\`--cc\` needs names such as cubic,bbr, not \`${SETTINGS[cc]}\`"
    WORK=$(mktemp -d)
    trap 'rm -rf "$WORK"' EXIT
    KERNEL=(env)
    [[ $HERE ]] || KERNEL=("$here/vm.sh" --virtual-time --memory 2048 --seconds 3600
        --writable "$WORK" sh -c "$TCP_MEMORY" sh)
    write_client >"$WORK/client"
}

# What all sockets of a kernel may hold together follows from its memory: both ends' share of a
# small guest's is filled by one long and lossy path, and the receiver's window closes. 1.5 GB of 2.
# shellcheck disable=SC2016 # It is for the guest's shell.
TCP_MEMORY='echo 393216 393216 393216 >/proc/sys/net/ipv4/tcp_mem; exec "$@"'

# What runs at the receiver's end, once a path is up. iperf3 3.12 has a client that sends wait for
# the start of the test by asking again and again, each time 256 ns later in virtual time. So the
# client is the receiver, which does so only where the message of the start is lost. One that could
# take no more than the default 6 MB would hide what the controllers do on long paths.
write_client() {
    cat <<'CLIENT'
sysctl -qw net.ipv4.tcp_rmem='4096 131072 134217728'
IFS=, read -ra names <<<"$CC"
for name in "${names[@]}"; do
    sysctl -qw net.ipv4.tcp_congestion_control="$name" ||
        { echo "no congestion control \`$name\` in this kernel" >&2; exit 2; }
    for ((round = 1; round <= ROUNDS; round++)); do
        # A server that still sees the connection of the round before refuses this one's.
        for pause in 1 2 4 8 16; do
            sleep "$pause"
            iperf3 -c "$PACELINE_SERVER" -R -C "$name" -t "$SECONDS_MEASURED" -O "$OMIT" \
                -P "$STREAMS" -J --get-server-output >"$OUT/$name.$round.json" || true
            jq -e .end.sum_received "$OUT/$name.$round.json" >/dev/null && break
        done
    done
done
CLIENT
}

measure() { # LINK
    local out=$WORK/out name
    rm -rf "$out"
    mkdir "$out"
    # The client is the receiver, so the LINK leads back to it.
    local path=("$here/run.sh" --return-link "$1" --server "$SERVER" "${SETTINGS[return-link]}")
    [[ ! $BY_RELAY ]] ||
        path=("$LINK_RELAY" tun --return-link "$1" --server "$SERVER"
            --link "${SETTINGS[return-link]}")
    "${KERNEL[@]}" env "OUT=$out" "CC=${SETTINGS[cc]}" "ROUNDS=${SETTINGS[rounds]}" \
        "SECONDS_MEASURED=${SETTINGS[seconds]}" "OMIT=${SETTINGS[omit]}" \
        "STREAMS=${SETTINGS[streams]}" "${path[@]}" -- bash "$WORK/client" \
        >"$WORK/log" 2>&1 || fail $? "$1"
    [[ $SHOWN ]] || print_row cc Mbit/s min max retrans 'RTT p50' p95 max 'link (RTT in ms)'
    SHOWN=yes
    IFS=, read -ra names <<<"${SETTINGS[cc]}"
    for name in "${names[@]}"; do
        row "$1" "$name" "$out"
    done
}

# For the shell at the sender's end.
SERVER='sysctl -qw net.ipv4.tcp_no_metrics_save=1 net.ipv4.tcp_wmem="4096 65536 134217728"
        exec iperf3 -s -i 0.1 -J >/dev/null'

fail() { # EXIT_CODE LINK
    ! grep -qs 'cannot open /dev/net/tun' "$WORK/log" ||
        die 2 'this kernel has no TUN devices; for the guest run build-kernel.sh again'
    tail -n 5 "$WORK/log" >&2
    die "$(($1 == 2 ? 2 : 1))" "no results over \`$2\`; see the last lines above"
}

# The medians of the rounds of one controller over one link, and a line of CSV for each.
row() { # LINK NAME FOLDER
    local round
    for ((round = 1; round <= SETTINGS[rounds]; round++)); do
        jq -e .end.sum_received "$3/$2.$round.json" >/dev/null ||
            die 1 "round $round of $2 over \`$1\` failed: $(
                jq -r '.error // "iperf3 says nothing"' "$3/$2.$round.json"
            )"
        jq -r --arg link "$1" --arg cc "$2" --argjson round "$round" "$FIGURES" \
            "$3/$2.$round.json" >>"$3/$2.csv"
    done
    cat "$3/$2.csv" >>"$WORK/rounds.csv"
    local cells
    IFS=$'\t' read -ra cells < <(
        jq -Rsr --arg link "$1" --arg cc "$2" "$MEDIANS" "$3/$2.csv"
    )
    print_row "${cells[@]}"
}

print_row() { # CELL...
    printf '%-8s %8s %6s %6s %8s %8s %8s %8s   %s\n' "$@"
}

# Of iperf3's JSON: what the receiver got, and the sender's smoothed RTT in steps of 0.1 s.
# shellcheck disable=SC2016 # jq expands it.
FIGURES='
def quantile(q): sort | .[((length - 1) * q | floor)] / 1000;
[.server_output_json.intervals[] | select(.sum.omitted | not) | .streams[].rtt] as $rtts
| [$link, $cc, $round, .end.sum_received.bits_per_second / 1e6, .end.sum_sent.retransmits,
   ($rtts | quantile(0.5)), ($rtts | quantile(0.95)), ($rtts | quantile(1))]
| @csv'

# shellcheck disable=SC2016 # jq expands it.
MEDIANS='
def median: sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2;
def digits($n): . * pow(10; $n) | round / pow(10; $n) | tostring;
def rate: digits(if . < 10 then 2 else 1 end);
split("\n") | map(select(length > 0) | "[" + . + "]" | fromjson) | transpose
| [$cc, (.[3] | median, min, max | rate), (.[4] | median | digits(0)),
   (.[5] | median | digits(1)), (.[6] | median | digits(1)), (.[7] | max | digits(1)), $link]
| @tsv'

HEADING=link,cc,round,goodput_mbits_per_second,retransmissions,srtt_ms_p50,srtt_ms_p95,srtt_ms_max

declare -A SETTINGS=([seconds]=20 [omit]=2 [rounds]=1 [streams]=1 [cc]='cubic,bbr' [return-link]='')
KERNEL=()
HERE=
BY_RELAY=
SHOWN=
WORK=

main "$@"
