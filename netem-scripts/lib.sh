# Sourced by the other scripts: building, checking and removing the path
#
#   client eth0 ── toclient ─ a0 ══ a1 ─ b0 ══ b1 ─ toserver ── eth0 server
#                  └ br-client ┘  └ br-middle ┘ └ br-server ┘
#
# of three network namespaces. The middle one shapes, each quantity on a device of its own, in the
# order of crates/link-sim: loss and duplication, then rate with its queue, then delay, jitter and
# reordering. Towards the server these are the devices a0, b0 and toserver; towards the client b1,
# a1 and toclient. An end's own device never has a qdisc of ours: a batch that UDP segmentation
# offload left whole passes netem as one packet there, and is lost as one.
#
# shellcheck shell=bash

# shellcheck source=link.sh
source "$(dirname "${BASH_SOURCE[0]}")/link.sh"

CLIENT_ADDRESS=10.77.0.1
SERVER_ADDRESS=10.77.0.2
CLIENT_MAC=02:00:00:4d:00:01
SERVER_MAC=02:00:00:4d:00:02
# Every veth, as NAMESPACE:DEVICE.
DEVICES=(client:eth0 link:toclient link:a0 link:a1 link:b0 link:b1 link:toserver server:eth0)

# The namespaces' common prefix, whether commands are only printed, and what `plan` planned.
NAME=paceline
PRINT_ONLY=
PLAN=

# ---- messages

die() { # EXIT_CODE MESSAGE
    printf '%s: %s\n' "${0##*/}" "$2" >&2
    exit "$1"
}

# Prints the command, and runs it unless printing is all that was asked for.
run() {
    if [[ $PRINT_ONLY ]]; then
        printf '%s\n' "$*"
    else
        "$@"
    fi
}

# ---- what has to be there

# Exits with 2 and one line unless everything is.
require_everything() {
    local problem
    problem=$(missing_programs)
    [[ $problem ]] || problem=$(missing_kernel_parts)
    [[ -z $problem ]] || die 2 "$problem"
}

missing_programs() {
    local program missing=() packages=()
    for program in ip:iproute2 tc:iproute2 ss:iproute2 ethtool:ethtool ping:iputils-ping \
        unshare:util-linux nsenter:util-linux setsid:util-linux; do
        command -v "${program%:*}" >/dev/null && continue
        missing+=("${program%:*}")
        [[ " ${packages[*]} " == *" ${program#*:} "* ]] || packages+=("${program#*:}")
    done
    ((${#missing[@]} == 0)) ||
        printf 'not installed: %s; apt-get install %s' "${missing[*]}" "${packages[*]}"
}

# Tries each part in a network namespace that ends with the trial.
missing_kernel_parts() {
    local fresh=(unshare --net) found
    ((EUID == 0)) || fresh=(unshare --map-root-user --net)
    if ! found=$("${fresh[@]}" bash -c "$KERNEL_TRIAL" 2>/dev/null); then
        printf '%s (sysctl %s)' \
            'no right to make a network namespace: run it as root, or allow user namespaces' \
            'kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns'
    elif [[ $found ]]; then
        printf 'this kernel has no %s; boot one that has (Debian: linux-image-amd64) or use %s' \
            "${found% }" 'a guest: netem-scripts/vm.sh netem-scripts/run.sh LINK -- COMMAND'
    fi
}

# shellcheck disable=SC2016 # The trial's own shell expands it.
KERNEL_TRIAL='
try() { local part=$1; shift; "$@" || printf "%s " "$part"; }
try veth ip link add t0 type veth peer name t1
try bridge ip link add t2 type bridge
try sch_netem tc qdisc add dev lo root netem delay 1ms
try sch_tbf tc qdisc replace dev lo root tbf rate 1mbit burst 3000 limit 3000
true'

# ---- planning, building and removing

# Reads both links; whatever has to be refused is refused here. PLAN has one DEVICE:QDISC a line.
plan() { # LINK RETURN_LINK
    local -A to_server=() to_client=()
    parse_link to_server "$1"
    parse_link to_client "$2"
    local rtt_ns=$((${to_server[delay_ns]:-0} + ${to_client[delay_ns]:-0}))
    PLAN=$(
        plan_device a0 loss_qdisc to_server
        plan_device b0 rate_qdisc to_server "$rtt_ns"
        plan_device toserver delay_qdisc to_server
        plan_device b1 loss_qdisc to_client
        plan_device a1 rate_qdisc to_client "$rtt_ns"
        plan_device toclient delay_qdisc to_client
    ) || exit
}

plan_device() { # DEVICE COMMAND...
    local qdisc
    qdisc=$("${@:2}") || exit
    printf '%s:%s\n' "$1" "$qdisc"
}

in_namespace() { # client|link|server COMMAND...
    local namespace=$NAME-$1
    shift
    # Not `ip netns exec`, which mounts a /sys and so fails for a user who is root only here.
    run nsenter "--net=/run/netns/$namespace" -- "$@"
}

# Makes what `plan` has planned.
build() {
    local device qdisc
    make_path
    while IFS=: read -r device qdisc; do
        # shellcheck disable=SC2086 # These are words.
        [[ -z $qdisc ]] || run tc -n "$NAME-link" qdisc replace dev "$device" root $qdisc
    done <<<"$PLAN"
}

make_path() {
    local end device
    for end in client link server; do
        run ip netns add "$NAME-$end"
        run ip -n "$NAME-$end" link set lo up
    done
    make_veth client eth0 link toclient
    make_veth link a0 link a1
    make_veth link b0 link b1
    make_veth server eth0 link toserver
    make_bridge br-client toclient a0
    make_bridge br-middle a1 b0
    make_bridge br-server b1 toserver
    # Batches that an end or a hop left whole would be shaped as one packet. tx-udp-segmentation
    # is a switch of its own: `gso off` leaves it on.
    for device in "${DEVICES[@]}"; do
        in_namespace "${device%:*}" ethtool -K "${device#*:}" \
            tso off gso off gro off tx-udp-segmentation off
        run ip -n "$NAME-${device%:*}" link set "${device#*:}" up
    done
    make_end client "$CLIENT_MAC" "$CLIENT_ADDRESS" "$SERVER_MAC" "$SERVER_ADDRESS"
    make_end server "$SERVER_MAC" "$SERVER_ADDRESS" "$CLIENT_MAC" "$CLIENT_ADDRESS"
}

make_veth() { # NAMESPACE DEVICE NAMESPACE DEVICE
    run ip link add "$2" netns "$NAME-$1" type veth peer name "$4" netns "$NAME-$3"
}

make_bridge() { # BRIDGE DEVICE DEVICE
    run ip -n "$NAME-link" link add "$1" type bridge stp_state 0 mcast_snooping 0
    run ip -n "$NAME-link" link set "$2" master "$1"
    run ip -n "$NAME-link" link set "$3" master "$1"
    run ip -n "$NAME-link" link set "$1" up
}

# Neighbours are fixed, as ARP would be delayed and lost like everything else.
make_end() { # NAMESPACE MAC ADDRESS PEER_MAC PEER_ADDRESS
    run ip -n "$NAME-$1" link set eth0 address "$2"
    run ip -n "$NAME-$1" address add "$3/24" dev eth0
    run ip -n "$NAME-$1" neighbour replace "$5" lladdr "$4" nud permanent dev eth0
}

# Whether anything of this name is there.
exists() {
    compgen -G "/run/netns/$NAME-*" >/dev/null
}

# Removes the path, whatever there is of it. Processes that still live in a namespace keep it, but
# its devices go at once.
remove() {
    local end pids
    for end in client link server; do
        [[ -e /run/netns/$NAME-$end ]] || continue
        ip -n "$NAME-$end" link delete eth0 2>/dev/null || true
        pids=$(ip netns pids "$NAME-$end" 2>/dev/null | tr '\n' ' ') || true
        [[ -z $pids ]] || printf '%s: still running in %s-%s, without a network now: %s\n' \
            "${0##*/}" "$NAME" "$end" "$pids" >&2
        ip netns delete "$NAME-$end"
    done
}

# ---- showing what was made

show() {
    local device
    for device in a0 b0 toserver b1 a1 toclient; do
        in_namespace link tc qdisc show dev "$device" root |
            sed -n "/noqueue/d; s/^qdisc/$device:/; s/ root refcnt [0-9]*//p"
    done
    printf 'client %s in namespace %s-client, server %s in namespace %s-server\n' \
        "$CLIENT_ADDRESS" "$NAME" "$SERVER_ADDRESS" "$NAME"
}

# Fails unless one of a few pings comes back.
verify() {
    local out
    # Each waits for 5 s at most, the way and a full queue included.
    if out=$(in_namespace client ping -n -q -c 5 -i 0.2 -W 5 "$SERVER_ADDRESS"); then
        printf 'ping: %s\n' "$(tail -n 2 <<<"$out" | paste -sd ' ')"
    else
        printf '%s: none of 5 pings came back over this link\n' "${0##*/}" >&2
        return 1
    fi
}
