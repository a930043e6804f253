# shellcheck shell=sh disable=SC2034,SC2154  # variables of the other parts
# Whether the list is as it was when it was last looked at, by what the shell itself can test: `stat` takes a third of
# the time of a request. $twin is a file of the list's time of change when its identity was $twin_id, and
# descriptor 6 is the list then.
twin=
twin_id=
looks=0
most_quick_looks=16  # then old files are looked at, too

# Only where `[ -nt ]` and `touch -r` are as exact as `stat`.
probe_twin() {
    [ "$has_stat" ] || return
    twin=$data/twin.$$.$mark
    if touch -d '2020-01-01 00:00:00.200' "$twin" && touch -d '2020-01-01 00:00:00.201' "$twin.x"; then
        # shellcheck disable=SC3013  # that is what is tested
        { [ "$twin.x" -nt "$twin" ] && [ "$twin" -ot "$twin.x" ] && [ "$twin" -ef "$twin" ]; } || twin=
    else
        twin=
    fi
    rm -f "$data/twin.$$.$mark" "$data/twin.$$.$mark.x"
} 2>/dev/null

# Before look() reads the times of both.
renew_twin() {
    [ "$twin" ] && [ "$twin_id" != "$id" ] && touch -r "$list" "$twin" 2>/dev/null && command exec 6<"$list" && return
    [ -f "$twin" ]
}

# shellcheck disable=SC3013  # where a shell has no such tests, $twin is empty
quick_look() {
    [ "$twin_id" = "$known_id" ] && [ "$((looks -= 1))" -gt 0 ] && [ -z "$grown" ] &&
        [ "$wants_change$wants_new_log$plan_bytes$copied" = 10- ] && [ "$send_file" != 1 ] &&
        [ "$seen_log $seen_bytes $ahead" = "$known_log $known_bytes " ] && ! is_half_written "$seen_log" "$seen_bytes" &&
        IFS= read -r log <"$data/edits" && [ "$log" = "LOG $seen_log" ] &&
        [ "$list" -ef /dev/fd/6 ] && ! [ "$list" -nt "$twin" ] && ! [ "$list" -ot "$twin" ] || return
    log=$seen_log
    log_bytes=$seen_bytes
    id=$twin_id
}
