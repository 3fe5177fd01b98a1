#!/usr/bin/env bash
# Runs COMMAND as root under a kernel that has netem: User-Mode Linux, which is an ordinary
# program, from Debian's package. Where the machine's own kernel has netem it is not needed.
#
# The guest's files are this machine's, read-only, so that COMMAND and everything that it calls are
# the same programs. It can write to /run and to TMPDIR, in memory. It has no network but the one
# that COMMAND makes, and one processor.
#
# In virtual time that processor is infinitely fast: the guest's clock stands still while anything
# runs, and jumps to the next timer when all wait. How busy the machine is changes no figure then.
# What waits by spinning on the clock waits long, and what a computation costs cannot be seen.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=kernel.sh
source "$here/kernel.sh"

USAGE="usage: vm.sh [OPTION...] COMMAND [ARG...]
  --virtual-time   use the kernel of build-kernel.sh, in virtual time
  --writable DIR   COMMAND may write to this directory of this machine
  --memory MB      the guest's memory, 512 by default; needs as much in /dev/shm
  --seconds N      stop the guest after N seconds of this machine's clock, 600 by default
Exit code: that of COMMAND; 2 when something is missing; 124 when the time was over; 125 when the
guest ended without an exit code."

main() {
    local memory=512 seconds=600
    while (($#)); do
        case $1 in
            --virtual-time) VIRTUAL_TIME=yes ;;
            --writable)
                WRITABLE=$(folder "$@")
                shift
                ;;
            --memory)
                memory=$(number 1 "$@")
                shift
                ;;
            --seconds)
                seconds=$(number 1 "$@")
                shift
                ;;
            -h | --help)
                printf '%s\n' "$USAGE"
                exit
                ;;
            --)
                shift
                break
                ;;
            -*) die 2 "unknown option \`$1\`; try --help" ;;
            *) break ;;
        esac
        shift
    done
    (($#)) || die 2 "no COMMAND given; try --help"
    require_everything
    WORK=$(mktemp -d)
    trap 'rm -rf "$WORK"' EXIT
    write_init "$@"
    boot "$memory" "$seconds"
}

require_everything() {
    local missing=()
    if [[ $VIRTUAL_TIME ]]; then
        [[ -x $VIRTUAL_TIME_KERNEL ]] ||
            die 2 "no kernel for virtual time; run netem-scripts/build-kernel.sh"
    else
        command -v linux.uml >/dev/null || missing+=(user-mode-linux)
        command -v modprobe >/dev/null || missing+=(kmod)
    fi
    if needs_wider_registers && ! command -v cc >/dev/null; then
        missing+=(gcc libc6-dev)
    fi
    ((${#missing[@]} == 0)) || die 2 "not installed; apt-get install ${missing[*]}"
}

# Processors with AMX have more registers than UML 6.1 has room for; uml-ptrace.c says more.
needs_wider_registers() {
    grep -qw amx_tile /proc/cpuinfo
}

# The guest's first process. It frames what COMMAND prints with lines that boot messages lack.
write_init() { # COMMAND...
    local relay
    printf 'cd %q\n' "$PWD" >"$WORK/command"
    # In the guest it would be looked for with another environment.
    if relay=$(link_relay 2>/dev/null); then
        printf 'export LINK_RELAY=%q\n' "$relay" >>"$WORK/command"
    fi
    printf '%q ' "$@" >>"$WORK/command"
    printf '#!/bin/bash\nwork=%q\nwritable=%q\nmodules=%q\n' \
        "$WORK" "$WRITABLE" "$MODULES" >"$WORK/init"
    cat >>"$WORK/init" <<'INIT'
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/run/tmp
exec 3<"$work/command"
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /run
mkdir -p /run/tmp /run/lib /dev/shm
ln -s /proc/self/fd /dev/fd
mount -t tmpfs tmpfs /dev/shm
export TMPDIR=/run/tmp
[[ ! $writable ]] || mount -t hostfs -o "$writable" hostfs "$writable"
# A kernel that has modules. modprobe wants their folder to be called so.
if [[ -e /proc/modules ]]; then
    mkdir -p /run/root/lib
    ln -s "$modules" /run/root/lib/modules
    for module in sch_{netem,tbf,fq,codel,fq_codel,red,pie,cake,ingress} \
        cls_matchall act_police veth bridge tcp_bbr; do
        modprobe -q -d /run/root "$module"
    done
fi
stty -opost <"/dev/console"
echo @@begin
bash -c "$(cat <&3)" 3<&- </dev/null 2>&1
printf '\n@@end %d\n' $?
sync
echo o >/proc/sysrq-trigger
sleep 10
INIT
    chmod +x "$WORK/init"
}

boot() { # MEMORY SECONDS
    local kernel=linux.uml preload=() options=() status=0
    if [[ $VIRTUAL_TIME ]]; then
        kernel=$VIRTUAL_TIME_KERNEL
        options=(time-travel=inf-cpu)
    fi
    if needs_wider_registers; then
        cc -O2 -shared -fPIC -o "$WORK/uml-ptrace.so" "$here/uml-ptrace.c"
        preload=("LD_PRELOAD=$WORK/uml-ptrace.so")
    fi
    mkfifo "$WORK/fifo"
    between_marks <"$WORK/fifo" &
    # UML keeps the guest's memory in a file, and runs it from there. In the background, so that a
    # signal to this script ends the guest at once.
    env "${preload[@]}" TMPDIR=/dev/shm timeout --kill-after=5 "$2" \
        "$kernel" "mem=${1}M" rootfstype=hostfs rootflags=/ ro "init=$WORK/init" \
        con=null con0=null,fd:1 ssl=null quiet loglevel=1 "${options[@]}" \
        </dev/null 2>"$WORK/errors" >"$WORK/fifo" &
    GUEST=$!
    trap 'stop 143' TERM HUP
    trap 'stop 130' INT
    wait "$GUEST" || status=$?
    end_the_rest
    if [[ -s $WORK/status ]]; then
        exit "$(<"$WORK/status")"
    fi
    ((status != 124)) || die 124 "the guest ran longer than $2 s"
    tail -n 5 "$WORK/console" "$WORK/errors" >&2 || true
    die 125 "the guest ended without an exit code; see its last lines above"
}

# shellcheck disable=SC2317 # Traps call it.
stop() { # EXIT_CODE
    kill "$GUEST" 2>/dev/null || true
    wait "$GUEST" || true
    end_the_rest
    exit "$1"
}

# A process of the guest that begins as the guest is killed finds another parent, asks that one to
# trace it, and stays stopped for ever with the output open. `timeout` has a process group.
end_the_rest() {
    kill -s KILL -- "-$GUEST" 2>/dev/null || true
    wait
}

# Passes on what COMMAND prints; the rest goes to a file.
between_marks() {
    local line inside=
    while IFS= read -r line || [[ $line ]]; do
        line=${line%$'\r'}
        case $line in
            @@begin) inside=yes ;;
            '@@end '*)
                inside=
                printf '%s' "${line#* }" >"$WORK/status"
                ;;
            *)
                if [[ $inside ]]; then
                    printf '%s\n' "$line"
                else
                    printf '%s\n' "$line" >>"$WORK/console"
                fi
                ;;
        esac
    done
}

# What the options said; empty for no.
VIRTUAL_TIME=
WRITABLE=
GUEST=
# Where Debian's package has them.
MODULES=/usr/lib/uml/modules

main "$@"
