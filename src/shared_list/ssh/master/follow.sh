# shellcheck shell=sh disable=SC2034,SC2154  # variables of the other parts
# Follows the log without a command: descriptor 8 stands where the worker knows it, at $seen_bytes of the log
# $seen_log and $ahead, which was read beyond and not sent.
#
# Many workers that change a list at once are mostly late: a request that comes after another's change is refused
# before it takes the lock.
seen_log=
seen_bytes=0
ahead=
most_ahead=16384  # `read` makes a system call for each byte; as in ../edit_log.cpp

# True: to the log's end.
read_ahead() {
    [ "${#ahead}" -lt "$most_ahead" ] || return
    while IFS= read -r text <&8; do
        ahead=$ahead$text$newline
        [ "${#ahead}" -lt "$most_ahead" ] || return
    done
    ahead=$ahead$text
}

# Whether much was appended at once beyond what was seen: $data/edits.long has the log's name and its size after that.
is_much_ahead() {
    [ -f "$data/edits.long" ] || return
    # Somebody writes it just now.
    IFS=' ' read -r name bytes <"$data/edits.long" || return 0
    [ "$name" = "$seen_log" ] && ! [ "$bytes" -le "$seen_bytes" ]
}

# A record that is still written may yet be taken back, if the disk is full; then its writer's next one has the same
# sequence number.
is_late() {
    [ "$wants_change" = 1 ] && [ "$send_file" != 1 ] || return
    [ "$seen_log $seen_bytes" = "$known_log $known_bytes" ] || return
    # Without a log that it has seen, quick_look() does not take it for what is there.
    if is_much_ahead; then seen_log= && return 1; fi
    read_ahead || return
    case $newline$ahead in
    *"${newline}FILE "*) return 1 ;; # the list is another file
    *"$newline"*"$newline"*) late=1 && return ;;
    esac
    return 1
}

refuse() {
    part=${ahead%"$newline"*}$newline
    ahead=${ahead##*"$newline"}
    seen_bytes=$((seen_bytes + ${#part}))
    say ok 0 "$seen_log" "$seen_bytes" "$known_id" 0 "${#part}" - 0
    printf '%s' "$part"
}

# Under the lock: the log's bytes from $from to $sent are ready, in $part or behind descriptor 8.
ready_log() {
    part=
    if [ "$seen_log" = "$log" ] && [ "$((log_bytes - seen_bytes - most_ahead))" -lt 0 ]; then
        read_ahead
        if [ "$((seen_bytes + ${#ahead}))" = "$log_bytes" ] && { [ "$changed" = 1 ] || [ "$seen_bytes" = "$from" ]; }; then
            [ "$changed" = 1 ] || part=$ahead
            ahead=
            seen_bytes=$log_bytes
            return
        fi
    fi
    seen_log=
    ahead=
    command exec 8<"$data/edits"
}

# After the lock.
send_log() {
    if [ "$seen_log" ]; then
        printf '%s' "$part"
        return
    fi
    # It moves the descriptor, also by a copy of it.
    if [ "$has_dd" ] || [ "$sent" -gt "$from" ]; then bytes "$from" "$((sent - from))" <&8; fi
    [ -z "$has_dd" ] || seen_log=$log seen_bytes=$log_bytes
}
