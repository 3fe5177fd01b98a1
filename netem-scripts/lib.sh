# Sourced by the other scripts: building, checking and removing the path
#
#   client eth0 ── toclient ─ a0 ══ a1 ─ b0 ══ b1 ─ toserver ── eth0 server
#                  └ br-client ┘  └ br-middle ┘ └ br-server ┘
#
# of three network namespaces. The middle one shapes, with the commands that the program link-relay
# prints for a LINK: it alone reads links. An end's own device never has a qdisc of ours: a batch
# that UDP segmentation offload left whole passes netem as one packet there, and is lost as one.
#
# shellcheck shell=bash

# shellcheck source=options.sh
source "$(dirname "${BASH_SOURCE[0]}")/options.sh"

CLIENT_ADDRESS=10.77.0.1
SERVER_ADDRESS=10.77.0.2
CLIENT_MAC=02:00:00:4d:00:01
SERVER_MAC=02:00:00:4d:00:02
# Every veth, as NAMESPACE:DEVICE.
DEVICES=(client:eth0 link:toclient link:a0 link:a1 link:b0 link:b1 link:toserver server:eth0)
# Those that may get a qdisc, towards the server and towards the client, and their variables in what
# link-relay prints.
SHAPED=(a0 b0 toserver b1 a1 toclient)
declare -A VARIABLES=(
    [a0]=LOSS_DEV [b0]=RATE_DEV [toserver]=DELAY_DEV
    [b1]=RETURN_LOSS_DEV [a1]=RETURN_RATE_DEV [toclient]=RETURN_DELAY_DEV
)

# The namespaces' common prefix, whether commands are only printed, and what `plan` planned: a
# command of tc a line.
NAME=paceline
PRINT_ONLY=
PLAN=
# What pings have to see of it: the RTT's bounds in microseconds, and the share that is lost in
# millionths, which is empty where a few pings do not tell.
MIN_RTT_US=0
MAX_RTT_US=0
LOSS_PPM=0

# Runs the command, or prints it where that is all that was asked for.
run() {
    if [[ $PRINT_ONLY ]]; then
        printf '%s\n' "$*"
    else
        "$@"
    fi
}

# The same for what is read: each line has arguments of PROGRAM, which is started once for all of
# them, as starting programs is what takes time in a guest.
run_each() { # PROGRAM [OPTION...]
    if [[ $PRINT_ONLY ]]; then
        sed "s/^/$* /"
    else
        "$@" -batch -
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
            'cannot create a network namespace: run as root, or allow user namespaces' \
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

# Has both links read; whatever has to be refused is refused here.
plan() { # LINK RETURN_LINK
    local device ping
    LINK_RELAY=$(link_relay) || exit
    # For the scripts that this one starts.
    export LINK_RELAY
    PLAN=$("$LINK_RELAY" --print-tc "--link=$1" "--return-link=$2") || exit 2
    [[ $'\n'$PLAN != *$'\nsleep '* ]] ||
        die 2 "\`at\` is not supported here; run the commands that link-relay --print-tc prints"
    for device in "${SHAPED[@]}"; do
        PLAN=${PLAN//" \$${VARIABLES[$device]} "/" $device "}
    done
    PLAN=$(sed -n 's/^tc //p' <<<"$PLAN")
    ping=$("$LINK_RELAY" --print-ping "--link=$1" "--return-link=$2") || exit 2
    [[ $ping =~ ^min_rtt_us=([0-9]+).max_rtt_us=([0-9]+).loss_ppm=([0-9]*)$ ]] ||
        die 2 "$LINK_RELAY is of another version"
    MIN_RTT_US=${BASH_REMATCH[1]} MAX_RTT_US=${BASH_REMATCH[2]} LOSS_PPM=${BASH_REMATCH[3]}
}

in_namespace() { # client|link|server COMMAND...
    local namespace=$NAME-$1
    shift
    # Not `ip netns exec`, which mounts a /sys and so fails for a user who is root only here.
    run nsenter "--net=/run/netns/$namespace" -- "$@"
}

# Makes what `plan` has planned, on the path that there is.
shape() {
    [[ ! $PLAN ]] || run_each tc -n "$NAME-link" <<<"$PLAN" ||
        die $? 'tc failed, see above; the kernel may lack the qdisc'
}

# The path as it is before `shape`.
clear_shapes() {
    local device
    for device in "${SHAPED[@]}"; do
        printf 'qdisc delete dev %s %s\n' "$device" root "$device" clsact
    done | tc -n "$NAME-link" -force -batch - 2>/dev/null || true
}

make_path() {
    local device
    run_each ip <<PATH
netns add $NAME-client
netns add $NAME-link
netns add $NAME-server
link add eth0 netns $NAME-client type veth peer name toclient netns $NAME-link
link add a0 netns $NAME-link type veth peer name a1 netns $NAME-link
link add b0 netns $NAME-link type veth peer name b1 netns $NAME-link
link add eth0 netns $NAME-server type veth peer name toserver netns $NAME-link
PATH
    # Batches that an end or a hop left whole would be shaped as one packet. tx-udp-segmentation
    # is a switch of its own: `gso off` leaves it on.
    for device in "${DEVICES[@]}"; do
        in_namespace "${device%:*}" ethtool -K "${device#*:}" \
            tso off gso off gro off tx-udp-segmentation off
    done
    make_link | run_each ip -n "$NAME-link"
    make_end "$CLIENT_MAC" "$CLIENT_ADDRESS" "$SERVER_MAC" "$SERVER_ADDRESS" |
        run_each ip -n "$NAME-client"
    make_end "$SERVER_MAC" "$SERVER_ADDRESS" "$CLIENT_MAC" "$CLIENT_ADDRESS" |
        run_each ip -n "$NAME-server"
}

# What `ip` does in the namespace that shapes.
make_link() {
    local bridge device
    for bridge in 'br-client toclient a0' 'br-middle a1 b0' 'br-server b1 toserver'; do
        echo "link add ${bridge%% *} type bridge stp_state 0 mcast_snooping 0"
        for device in ${bridge#* }; do
            echo "link set $device master ${bridge%% *}"
            echo "link set $device up"
        done
        echo "link set ${bridge%% *} up"
    done
}

# What it does in that of an end. Neighbours are fixed, as ARP would be delayed and lost like
# everything else.
make_end() { # MAC ADDRESS PEER_MAC PEER_ADDRESS
    cat <<END
link set lo up
link set eth0 address $1
link set eth0 up
address add $2/24 dev eth0
neighbour replace $4 lladdr $3 nud permanent dev eth0
END
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
        [[ $end == link ]] || ip -n "$NAME-$end" link delete eth0 2>/dev/null || true
        pids=$(ip netns pids "$NAME-$end" 2>/dev/null | tr '\n' ' ') || true
        [[ -z $pids ]] || printf '%s: warning: still running in %s-%s without a network: %s\n' \
            "${0##*/}" "$NAME" "$end" "$pids" >&2
        ip netns delete "$NAME-$end"
    done
}

# ---- showing what was made

show() {
    local device qdiscs
    qdiscs=$(tc -n "$NAME-link" qdisc show)
    for device in "${SHAPED[@]}"; do
        sed -nE "/noqueue/d; s/^qdisc (.*) dev $device (root refcnt|parent) [^ ]*/$device: \1/p" \
            <<<"$qdiscs"
    done
    printf 'client %s in namespace %s-client, server %s in namespace %s-server\n' \
        "$CLIENT_ADDRESS" "$NAME" "$SERVER_ADDRESS" "$NAME"
}

# Fails unless a few pings find the path to be what was planned. Only the fastest one's time is
# judged, as others may have waited for a busy machine.
verify() {
    local out sent back fastest_us lost
    # Each waits for 5 s at most, the way and a full queue included.
    out=$(in_namespace client ping -n -q -c "$PINGS" -i "$PING_GAP" -W 5 \
        "$SERVER_ADDRESS") || true
    [[ $out =~ ([0-9]+)\ packets\ transmitted,\ ([0-9]+)\ received ]] ||
        wrong "ping printed \`${out:-nothing}\`"
    sent=${BASH_REMATCH[1]} back=${BASH_REMATCH[2]}
    lost="$((sent - back)) of $sent pings were lost"
    within_chance $((sent - back)) "$sent" ||
        wrong "$lost, but the path loses $((LOSS_PPM / 10000)) %"
    if [[ ! $out =~ min/avg/max/mdev\ =\ ([0-9]+)\.([0-9]{3})/ ]]; then
        ((LOSS_PPM > 0)) || wrong "$lost"
        printf 'ping: %s\n' "$lost"
        return
    fi
    fastest_us=$((10#${BASH_REMATCH[1]}${BASH_REMATCH[2]}))
    ((fastest_us >= MIN_RTT_US)) ||
        wrong "a ping took $fastest_us us, below the minimum of $MIN_RTT_US us"
    ((fastest_us <= MAX_RTT_US + TOLERANCE_US)) ||
        wrong "all pings took $fastest_us us or more, above the maximum of $MAX_RTT_US us"
    printf 'ping: %s, min RTT %s.%s ms\n' \
        "$lost" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
}

# Within five standard deviations of what a random loss would give, and two pings for good measure.
within_chance() { # LOST SENT
    [[ $LOSS_PPM ]] || return 0
    local apart=$(($1 * 1000000 - $2 * LOSS_PPM))
    apart=$((${apart#-} - 2000000))
    ((apart <= 0 || apart * apart <= 25 * $2 * LOSS_PPM * (1000000 - LOSS_PPM)))
}

wrong() { # PROBLEM
    die 1 "the path does not match the link: $1"
}

# As many as link-relay --print-ping expects, and as far apart, which is in seconds.
PINGS=20
PING_GAP=0.05
# How late a ping may be on a busy machine.
TOLERANCE_US=50000
