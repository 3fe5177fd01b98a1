# Sourced by lib.sh: reads a LINK and says it in tc's words. The grammar is that of LinkSpec in
# crates/link-sim; what these scripts do not shape is refused by name.
#
# shellcheck shell=bash
# Subscripts of associative arrays look like variables to shellcheck: SC2154. Divisions come before
# multiplications where 64 bits would not hold the product: SC2017.
# shellcheck disable=SC2154,SC2017

# A full Ethernet frame without its checksum, which is what a qdisc counts.
FRAME_BYTES=1514
# Packets inside netem unless a LINK says otherwise: netem's own default.
DEFAULT_LIMIT=1000
# Beyond any delay × rate that a veth carries.
ROOMY_LIMIT=100000
# tbf's limit has 32 bits.
TBF_BYTES=4294967296
# What link-sim takes at most.
MAX_RATE_BITS=10000000000000

# parse_link ARRAY TEXT fills the associative array with the LINK's clauses.
#
# Words are kept as they are where tc reads them alike; numbers that are computed with are added:
# delay_ns, rate_bytes (per second), queue_bytes or queue_packets or queue_bdp (millionths).

parse_link() {
    local -n link=$1
    local text=$2 at=0 clause
    local -a words
    read -ra words <<<"$text" || true
    while ((at < ${#words[@]})); do
        clause=${words[at]}
        case $clause in
            latency) clause=delay ;;
            drop) clause=loss ;;
        esac
        [[ -z ${link[$clause]:-} ]] || refuse "\`$clause\` stands here twice"
        case $clause in
            delay) parse_delay ;;
            loss) parse_loss ;;
            duplicate) link[duplicate]=$(value "$PERCENT") || exit ;;
            reorder) parse_reorder ;;
            rate) parse_rate ;;
            limit) link[limit]=$(value "$COUNT" 'a number of packets from 1') || exit ;;
            queue) parse_queue ;;
            *) refuse_clause ;;
        esac
        case $clause in
            duplicate | limit) at=$((at + 2)) ;;
        esac
    done
    check_clauses
}

# Patterns of values, and what an error says was expected.
TIME='^([0-9]{1,9}(\.[0-9]{0,6})?|\.[0-9]{1,6})(s|secs?|ms|msecs?|us|usecs?|ns|nsecs?)$'
PERCENT='^(100(\.0*)?|[0-9]{1,2}(\.[0-9]*)?|\.[0-9]+)%$'
RATE='^([0-9]{1,12}(\.[0-9]{0,6})?|\.[0-9]{1,6})([kmg]|[kmgt]?bit|[kmg]?bps|[kmg]ibit)?$'
COUNT='^[1-9][0-9]{0,8}$'
QUEUE='^([1-9][0-9]{0,8}p|([0-9]{1,9}(\.[0-9]{0,6})?|\.[0-9]{1,6})(bdp|b|[kmg]b?))$'
declare -A EXPECTED=(
    [$TIME]='a time up to 1 hour, such as 50ms, 2s or 100us'
    [$PERCENT]='a percentage from 0% to 100%, such as 2.5%'
    [$RATE]='a rate up to 10tbit, such as 100mbit or 64kbit'
    [$QUEUE]='a queue such as 1bdp, 0.5bdp, 100p (packets) or 250kb (bytes)'
)
declare -A ELSEWHERE=(
    [seed]='tc draws its own random numbers'
    [trace]='tc plays no traces'
    [radio]='tc has no radios'
)
for clause in aqm policer corrupt slot tbf at; do
    ELSEWHERE[$clause]='tc has it, see link-relay --print-tc'
done

# The parse_* functions below read `words` from `at` and write `link`, all of parse_link.

parse_delay() {
    local next
    link[delay]=$(value "$TIME") || exit
    link[delay_ns]=$(nanoseconds "${link[delay]}")
    ((link[delay_ns] <= 3600000000000)) || refuse_value "${EXPECTED[$TIME]}"
    at=$((at + 2))
    next=${words[at]:-}
    if [[ $next =~ ^[0-9.] ]]; then
        at=$((at - 1))
        link[jitter]=$(value "$TIME" 'a jitter such as 10ms') || exit
        at=$((at + 2))
        ((link[delay_ns] > 0)) || refuse 'jitter needs a delay above zero to vary' "${link[jitter]}"
    fi
    while [[ ${words[at]:-} == distribution || ${words[at]:-} == ordered ]]; do
        [[ ${link[jitter]:-} ]] ||
            refuse "\`${words[at]}\` needs a jitter, as in \`delay 50ms 10ms\`"
        if [[ ${words[at]} == ordered ]]; then
            link[ordered]=yes
            at=$((at + 1))
        else
            link[distribution]=$(value '^(uniform|normal|pareto|paretonormal)$' \
                'uniform, normal, pareto or paretonormal') || exit
            at=$((at + 2))
        fi
    done
}

parse_loss() {
    local model=random values percents=()
    case ${words[at + 1]:-} in
        random | gemodel)
            model=${words[at + 1]}
            at=$((at + 1))
            ;;
    esac
    percents+=("$(value "$PERCENT")") || exit
    at=$((at + 2))
    if [[ $model == gemodel ]]; then
        for ((values = 1; values < 4; values++)); do
            [[ ${words[at]:-} =~ ^[0-9.] ]] || break
            at=$((at - 1))
            percents+=("$(value "$PERCENT")") || exit
            at=$((at + 2))
        done
    fi
    link[loss]="$model ${percents[*]}"
}

parse_reorder() {
    link[reorder]=$(value "$PERCENT") || exit
    at=$((at + 2))
    if [[ ${words[at]:-} == gap ]]; then
        link[reorder]+=" gap $(value "$COUNT" 'a number of packets from 1')" || exit
        at=$((at + 2))
    fi
}

parse_rate() {
    local word
    word=$(value "$RATE") || exit
    link[rate_bytes]=$(rate_bytes "$word")
    ((link[rate_bytes] > 0)) || refuse_value "${EXPECTED[$RATE]}"
    # tc has no iperf3 letters: 100m is 100mbit.
    [[ $word != *[kmgKMG] ]] || word+=bit
    link[rate]=$word
    at=$((at + 2))
}

parse_queue() {
    local word number
    word=$(value "$QUEUE") || exit
    word=${word,,}
    number=$(millionths "${word%%[a-z]*}")
    case $word in
        *bdp) link[queue_bdp]=$number ;;
        *p) link[queue_packets]=$((number / 1000000)) ;;
        *k | *kb) link[queue_bytes]=$(times_millionths 1024 "$number") ;;
        *m | *mb) link[queue_bytes]=$(times_millionths 1048576 "$number") ;;
        *g | *gb) link[queue_bytes]=$(times_millionths 1073741824 "$number") ;;
        *b) link[queue_bytes]=$((number / 1000000)) ;;
    esac
    ((number > 0)) || refuse_value "${EXPECTED[$QUEUE]}"
    link[queue]=$word
    at=$((at + 2))
}

check_clauses() {
    at=-1
    [[ -z ${link[queue]:-} || ${link[rate]:-} ]] ||
        refuse "a queue needs a \`rate\` that serves it" queue
    [[ -z ${link[reorder]:-} || ${link[delay_ns]:-0} -gt 0 ]] ||
        refuse "reordering needs a \`delay\` that others wait for" reorder
}

# The word behind the one at `at`, if it has this form.
value() { # PATTERN [EXPECTED]
    local word=${words[at + 1]:-}
    # Rates and sizes are tc's, in either case. The caller's `$(...)` ends the option's effect.
    if [[ $1 == "$RATE" || $1 == "$QUEUE" ]]; then
        shopt -s nocasematch
    fi
    [[ $word =~ $1 ]] || refuse_value "${2:-${EXPECTED[$1]}}"
    printf '%s' "$word"
}

refuse_value() { # EXPECTED
    local before=${words[at]}
    at=$((at + 1))
    refuse "expected $1 behind \`$before\`"
}

refuse_clause() {
    local reason=${ELSEWHERE[$clause]:-}
    if [[ $reason ]]; then
        refuse "these scripts do not shape it: $reason; link-relay does"
    fi
    refuse 'expected delay, loss, duplicate, reorder, rate, limit, queue'
}

refuse() { # PROBLEM [WORD]
    local word=${2:-${words[at]:-}}
    if [[ $word ]]; then
        die 2 "\`$word\` in link \`$text\`: $1"
    fi
    die 2 "end of link \`$text\`: $1"
}

# ---- arithmetic on the words' numbers, all of it rounded down

millionths() { # DECIMAL
    local whole=${1%%.*} fraction=
    [[ $1 != *.* ]] || fraction=${1#*.}
    fraction+=000000
    printf '%d' $((10#${whole:-0} * 1000000 + 10#${fraction:0:6}))
}

nanoseconds() { # TIME
    local number=${1%%[a-z]*} unit=${1##*[0-9.]}
    number=$(millionths "$number")
    case $unit in
        s | sec*) printf '%d' $((number * 1000)) ;;
        ms*) printf '%d' "$number" ;;
        us*) printf '%d' $((number / 1000)) ;;
        ns*) printf '%d' $((number / 1000000)) ;;
    esac
}

# Whole part and rest apart, as 64 bits do not hold every product.
times_millionths() { # INTEGER MILLIONTHS
    printf '%d' $(($2 / 1000000 * $1 + $2 % 1000000 * $1 / 1000000))
}

rate_bytes() { # RATE, into bytes per second
    local text=${1,,} unit number scale=1
    unit=${text##*[0-9.]}
    number=$(millionths "${text%%[a-z]*}")
    case $unit in
        kibit) scale=1024 ;;
        mibit) scale=1048576 ;;
        gibit) scale=1073741824 ;;
        k*) scale=1000 ;;
        m*) scale=1000000 ;;
        g*) scale=1000000000 ;;
        t*) scale=1000000000000 ;;
    esac
    # One that is too fast is zero to the caller.
    ((number / 1000000 <= MAX_RATE_BITS / scale)) || number=0
    number=$(times_millionths "$scale" "$number")
    [[ $unit == *bps ]] || number=$((number / 8))
    printf '%d' "$number"
}

# Bytes at this rate in this time.
rate_times() { # RATE_BYTES NANOSECONDS
    local us=$(($2 / 1000))
    if (($1 < 1000000000)); then
        printf '%d' $(($1 * us / 1000000))
    else
        # Thousands of bytes are exact enough here, and 64 bits are not enough otherwise.
        printf '%d' $(($1 / 1000 * us / 1000))
    fi
}

# ---- from a LINK to qdiscs, as `link-relay --print-tc` has them; empty where a device needs none

# Without a queue of its own a link is all netem's, and one netem is all of it.
loss_qdisc() { # ARRAY
    local -n of=$1
    [[ ${of[queue]:-} ]] || return 0
    [[ ${of[loss]:-} || ${of[duplicate]:-} ]] || return 0
    printf 'netem limit %d' "$ROOMY_LIMIT"
    loss_words "$1"
}

loss_words() { # ARRAY
    local -n of_loss=$1
    [[ -z ${of_loss[loss]:-} ]] || printf ' loss %s' "${of_loss[loss]}"
    [[ -z ${of_loss[duplicate]:-} ]] || printf ' duplicate %s' "${of_loss[duplicate]}"
}

# A queue in bytes is tbf's, one in packets netem's.
rate_qdisc() { # ARRAY BASE_RTT_NS
    local -n of=$1
    local bytes=${of[queue_bytes]:-} burst
    [[ ${of[queue]:-} ]] || return 0
    if [[ ${of[queue_bdp]:-} ]]; then
        bytes=$(bdp_bytes "$1" "$2") || exit
    fi
    if [[ ! $bytes ]]; then
        # netem counts the packet in transmission too.
        printf 'netem rate %s limit %d' "${of[rate]}" $((of[queue_packets] + 1))
        return
    fi
    ((bytes >= FRAME_BYTES)) ||
        die 2 "\`queue ${of[queue]}\` is $bytes bytes here; a full frame has $FRAME_BYTES"
    ((bytes < TBF_BYTES)) ||
        die 2 "\`queue ${of[queue]}\` is $bytes bytes here; tbf counts to $TBF_BYTES"
    # 1 ms of the rate, as timers fire late, and room for two frames.
    burst=$((of[rate_bytes] / 1000))
    ((burst >= 2 * FRAME_BYTES)) || burst=$((2 * FRAME_BYTES))
    printf 'tbf rate %s burst %d limit %d' "${of[rate]}" "$burst" "$bytes"
}

bdp_bytes() { # ARRAY BASE_RTT_NS
    local -n of_bdp=$1
    local bytes
    (($2 > 0)) || die 2 "\`queue ${of_bdp[queue]}\` needs a delay, here or on the return link"
    bytes=$(rate_times "${of_bdp[rate_bytes]}" "$2")
    ((bytes < TBF_BYTES)) ||
        die 2 "\`queue ${of_bdp[queue]}\`: 1bdp is $bytes bytes; tbf counts to $TBF_BYTES"
    bytes=$(times_millionths "$bytes" "${of_bdp[queue_bdp]}")
    # Nothing could ever wait in less than a frame.
    printf '%d' $((bytes > FRAME_BYTES ? bytes : FRAME_BYTES))
}

# Behind a queue what delays; without one, all there is.
delay_qdisc() { # ARRAY
    local -n of=$1
    local words
    if [[ ${of[queue]:-} ]]; then
        words=$(delay_words "$1")
        # A queue of its own leaves the delay without a limit.
        [[ -z $words ]] || printf 'netem limit %d%s' "${of[limit]:-$ROOMY_LIMIT}" "$words"
        return
    fi
    words=$(
        delay_words "$1"
        loss_words "$1"
        [[ -z ${of[rate]:-} ]] || printf ' rate %s' "${of[rate]}"
    )
    [[ -z $words && -z ${of[limit]:-} ]] ||
        printf 'netem limit %d%s' "${of[limit]:-$DEFAULT_LIMIT}" "$words"
}

delay_words() { # ARRAY
    local -n of_delay=$1
    [[ ${of_delay[delay]:-} ]] || return 0
    printf ' delay %s' "${of_delay[delay]}"
    [[ -z ${of_delay[jitter]:-} ]] || printf ' %s' "${of_delay[jitter]}"
    # netem's jitter is uniform unless it is told of a table.
    [[ ${of_delay[distribution]:-uniform} == uniform ]] ||
        printf ' distribution %s' "${of_delay[distribution]}"
    [[ -z ${of_delay[reorder]:-} ]] || printf ' reorder %s' "${of_delay[reorder]}"
    # With any rate netem lets no packet overtake; this one is too fast to be felt.
    [[ -z ${of_delay[ordered]:-} || (${of_delay[rate]:-} && -z ${of_delay[queue]:-}) ]] ||
        printf ' rate 1tbit'
}
