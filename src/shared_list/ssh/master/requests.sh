# shellcheck shell=sh disable=SC2034,SC2154  # variables of the other parts
# Requests and their answers.

# take BYTES FILE: that come on standard input
take() {
    if [ "$has_dd" ]; then
        text=$({ dd bs=65536 iflag=fullblock,count_bytes count="$1" >"$2"; } 2>&1) && return
    else
        text=$({ dd bs=1 count="$1" >"$2"; } 2>&1) && return
    fi
    make_room
    # What was not taken would be read as requests.
    say bye write "${text%%"$newline"*}"
    exit 1
}

receive() {
    lines=
    separator=
    left=$record_lines
    while [ "$left" -gt 0 ]; do
        IFS= read -r text || exit 1
        lines=$lines$separator$text
        separator=$newline
        left=$((left - 1))
    done
    aside=$data/received.$$.$mark
    [ -d "$data" ] || mkdir -p "$data"
    if [ "$record_lines" -eq 0 ] && [ "$record_bytes" -gt 0 ]; then
        take "$record_bytes" "$aside"
        exec 5<"$aside"
        rm -f "$aside"
    fi
    if [ "$plan_bytes" != - ]; then
        take "$plan_bytes" "$aside"
        exec 4<"$aside"
        rm -f "$aside"
    fi
}

# send_file wants_change LOG LOG_BYTES FILE_ID new_name record_lines record_bytes plan_bytes new_bytes wants_new_log
# put_aside COPIED_OLD...
exchange() {
    receive
    why=
    late=
    is_late || exchange_locked
    if [ "$why" ]; then
        say bad "$why"
    elif [ "$late" ]; then
        refuse
    else
        answer
    fi
    exec 4<&- 5<&- 7<&-
}

exchange_locked() {
    changed=0
    unsynced=
    if lock && ! is_late && { quick_look || look; }; then
        change_if_known
        whole=0
        from=$known_bytes
        sent=$log_bytes
        if [ "$changed" = 1 ]; then
            from=$sent
        elif [ "$known_log" != "$log" ] || [ "$known_bytes" -gt "$log_bytes" ]; then
            whole=1
            from=0
        fi
        # They are opened while they are these files.
        if [ "$why" ] || { ready_log && command exec 7<"$list"; }; then :; elif [ "$changed" = 1 ]; then
            fail halfway
        else
            fail readonly
        fi
    fi
    unlock
    [ -z "$unsynced" ] || [ "$why" ] || to_disk "$data/edits" || fail sync
}

change_if_known() {
    [ "$wants_change" = 1 ] && [ "$known_log $known_bytes $known_id" = "$log $log_bytes $id" ] || return 0
    # If not, somebody has just edited the list.
    change && [ "$changed" = 0 ] && look
}

answer() {
    file=-
    if [ "$send_file" = 1 ] || { [ "$send_file$changed" = 20 ] && [ "$known_id" != "$id" ]; }; then
        file=${id#*_}
        file=${file%%_*}
    fi
    look_for_begun
    say ok "$changed" "$log" "$log_bytes" "$id" "$whole" "$((sent - from))" "$file" "$old_count" "$told"
    send_log
    send_old
    [ "$file" = - ] || send_list
}

# With its identity afterwards, as somebody may have edited it meanwhile, and that of a next list that a crash left aside.
send_list() {
    padded_bytes 0 "$file" <&7
    set -- "$list"
    [ ! -f "$data/new" ] || set -- "$list" "$data/new"
    # shellcheck disable=SC2046
    set -- $(words "$@" 2>/dev/null)
    say "$1_$3_$4.${6#*.} ${8:+$8_${10}_${11}.${13#*.}}"
}

# The log before this one.
previous() {
    file=0
    if [ -f "$data/edits.1" ] && command exec 7<"$data/edits.1"; then
        # shellcheck disable=SC2046  # words
        set -- $(words "$data/edits.1")
        file=${3:-0}
    fi
    say ok "$file"
    [ "$file" = 0 ] || padded_bytes 0 "$file" <&7
    exec 7<&-
}

beat() {
    [ -d "$data/alive" ] || mkdir -p "$data/alive"
    if give_sign "$1" "$2"; then say ok; else say bad write "$(probe)"; fi
}

# give_sign WORKER LEASE; written over, never empty
give_sign() { printf '%-20s\n' "$2" 1<>"$data/alive/$1"; }

# The ages are by the clock that touches the files: that of the master, or of its file server.
# Who only looks has but the master's.
find_signs() {
    found=
    if [ "$mode" = read ]; then
        [ -e "$data/alive" ] || return 0
        cd "$data/alive" || fail unreadable || return
        [ -z "$has_stat" ] || found="- $(date +%s) - -.0 - $(stat -c '%n %Y %y' [0-9]* 2>/dev/null)"
        return
    fi
    [ -d "$data/alive" ] || mkdir -p "$data/alive"
    { cd "$data/alive" && printf '\n' >".now.$$"; } || fail write "$(probe)" || return
    [ -z "$has_stat" ] || found=$(stat -c '%n %Y %y' ".now.$$" [0-9]* 2>/dev/null)
    rm -f ".now.$$"
}

# A folder that cannot be read must not look as if nobody lived.
signs() {
    why=
    if ! find_signs; then
        rm -f "$data/alive/.now.$$" 2>/dev/null
        cd / || :
        say bad "$why"
        return
    fi
    # shellcheck disable=SC2086
    set -- $found
    text=
    while [ $# -ge 5 ]; do
        lease=0
        [ ! -f "$1" ] || IFS=' ' read -r lease rest <"$1"
        text="$text $1 $2.${4#*.} ${lease:-0}"
        shift 5
    done
    cd / || :
    say ok "$text"
}

# turn NAME: a line of the log that nobody can miss who wants to change something
turn() {
    why=
    lock && look && { printf '\nTURN %s\n' "$1" >>"$data/edits" || fail write "$(probe)"; }
    unlock
    if [ "$why" ]; then say bad "$why"; else say ok; fi
}

# hold SECONDS: until standard input ends, or nobody is there to hear it
hold() {
    why=
    # Before the lock is taken, as what runs beside must not keep it.
    [ -z "$has_wait" ] || tell_now_and_then "$1"
    if lock; then say held; else say bad "$why"; fi
    read -r text
    exit 0
}

# The input of a dead connection may never end; only who writes to it learns that it is dead. These words go where
# nobody expects an answer. The pause between them ends with the process that holds the file.
tell_now_and_then() {
    aside=$data/received.$$.$mark
    command exec 8>"$aside" 7>"$aside" && flock 8 || return
    rm -f "$aside"
    {
        exec 8>&-  # a shell keeps a copy of what it closes for a command only
        trap '' PIPE
        while :; do
            flock -w "$1" 7
            [ $? = 1 ] || exit
            echo >&2 || break
        done
        kill $$
    } </dev/null >/dev/null &
    exec 7>&-
}

serve() {
    while read -r verb words; do
        # shellcheck disable=SC2086
        set -- $words
        case $verb in
        exchange)
            send_file=$1 wants_change=$2 known_log=$3 known_bytes=$4 known_id=$5 new_name=$6 record_lines=$7
            record_bytes=$8 plan_bytes=$9
            shift 9
            new_bytes=$1 wants_new_log=$2 put_aside=$3
            shift 3
            copied=$*
            exchange ;;
        view) answer_view ;;
        previous) previous ;;
        beat) beat "$1" "$2" ;;
        unsign) if rm -f "$data/alive/$1"; then say ok; else say bad write; fi ;;
        signs) signs ;;
        time) say ok "$(date '+%s %z')" ;;
        turn) turn "$1" ;;
        hold) hold "$1" ;;
        *) say bad request ;;
        esac
    done
}
