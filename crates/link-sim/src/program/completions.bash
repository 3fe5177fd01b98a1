# bash breaks words at `:` and `=`, and takes a quoted link for one. COMPLETE is asked for the last
# part of a word, and what it offers is put behind the rest.
COMPLETE_of_parts() {
    local line=${COMP_LINE:0:COMP_POINT} words=() word= quote= begun= c i
    for ((i = 0; i < ${#line}; i++)); do
        c=${line:i:1}
        if [[ $quote ]]; then
            if [[ $c == "$quote" ]]; then quote=; else word+=$c; fi
        elif [[ $c == [\"\'] ]]; then
            quote=$c begun=1
        elif [[ $c == [[:space:]] ]]; then
            [[ $begun ]] && words+=("$word")
            word= begun=
        else
            word+=$c begun=1
        fi
    done
    # What readline replaces, and what stays before it.
    local before=${word%"$2"} head= name= part=$word prev=$3
    [[ $before$2 == "$word" ]] || return 0
    ((${#words[@]})) && prev=${words[${#words[@]}-1]}
    case " ${words[*]} " in
        *" -- ") COMPREPLY=($(compgen -c -- "$2")); return 0 ;;
        *" -- "*) return 0 ;;
    esac
    if [[ $part == --*=* ]]; then
        prev=${part%%=*} head=$prev= part=${part#*=}
        words+=("$prev")
    fi
    case $part in
        *' '*) head+="${part% *} " part=${part##* } ;;
        *:*,*) name=${part%%:*}: head+=${part%,*}, part=$name${part##*,} ;;
    esac
    local COMP_WORDS=("${words[@]}" "$part") COMP_CWORD=${#words[@]}
    COMPLETE "$1" "$part" "$prev"
    local offered=("${COMPREPLY[@]}")
    COMPREPLY=()
    for word in "${offered[@]}"; do
        # Parameters come with the controller's colon.
        [[ $word == *:*= && $part != *:* ]] && continue
        word=$head${word#"$name"}
        COMPREPLY+=("${word#"$before"}")
    done
    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
    return 0
}
