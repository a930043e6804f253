# shellcheck shell=sh disable=SC2034,SC2154  # variables of the other parts
# For who only looks: without the lock, and without making anything.

start_to_read() {
    [ -e "$list" ] || fail nolist || return
    [ -f "$list" ] || fail special || return
    [ -r "$list" ] || fail unreadable || return
    probe_reading
}

# The list before its log, which only grows: so the log has all that the list has. The worker looks again if the list's
# identity is another one afterwards, or the log does not begin with its name.
view() {
    log=-
    log_bytes=0
    [ ! -f "$data/edits" ] || IFS= read -r log <"$data/edits" || log=-
    case $log in
    'LOG '?*) log=${log#LOG } ;;
    *) log=- ;;
    esac
    names=
    if [ "$log" = - ]; then
        # shellcheck disable=SC2046  # words
        set -- $(words "$list")
    else
        set -- "$data"/old/*.*
        [ -e "$1" ] || set --
        for file; do names="$names ${file##*/}"; done
        # shellcheck disable=SC2046
        set -- $(words "$list" "$data/edits" "$@")
    fi
    { [ $# -ge 7 ] && command exec 7<"$list"; } || fail unreadable || return
    id=$1_$3_$4.${6#*.}
    inode=$1
    links=$2
    file=$3
    shift 7
    if [ "$log" = - ]; then
        command exec 8</dev/null
    else
        { [ $# -ge 7 ] && command exec 8<"$data/edits"; } || fail unreadable || return
        log_bytes=$3
        shift 7
    fi
    look_at_old "$@"
    look_in_place
}

# A list that is being written over is completed from this file.
look_in_place() {
    file_line=
    is_half_written "$log" "$log_bytes" || return 0
    # shellcheck disable=SC2046
    set -- $(words "$in_place")
    { [ $# -ge 7 ] && command exec 7<"$in_place"; } || return 0
    file=$3
    file_line=${id#*_}
    file_line="${newline}FILE ${id%%_*} ${file_line%%_*} ${id##*_}$newline"
}

answer_view() {
    why=
    if ! view; then
        say bad "$why"
        return
    fi
    look_for_begun
    say ok 0 "$log" "$log_bytes" "$id" 1 "$((log_bytes + ${#file_line}))" "$file" "$old_count" "$told"
    padded_bytes 0 "$log_bytes" <&8
    printf '%s' "$file_line"
    send_old
    send_list
    exec 7<&- 8<&-
}
