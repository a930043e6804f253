# shellcheck shell=sh disable=SC2034,SC2154  # variables of the other parts
# The log: $log is its name, and $log_bytes its size.

# new_log [LINE]: begins one, with the request's records if it has any, and LINE
new_log() {
    [ -d "$data/old" ] || mkdir -p "$data/old" "$data/alive"
    {
        { printf 'LOG %s\n' "$new_name" && records && printf '%s' "$1"; } >"$data/edits.new" &&
            to_disk "$data/edits.new" && keep_previous && mv -f "$data/edits.new" "$data/edits"
    } || fail write "$(probe)" || return
    folder_to_disk "$data"
    log=$new_name
    log_bytes=$((5 + ${#log} + record_bytes + ${#1}))
}

# Where the file system has links.
keep_previous() { ln -f "$data/edits" "$data/edits.1" 2>/dev/null || rm -f "$data/edits.1"; }

records() {
    if [ "$record_lines" -gt 0 ]; then
        printf '%s\n' "$lines"
    elif [ "$record_bytes" -gt 0 ]; then
        cat <&5
    fi
}

# log_line [LINE]: the request's records and LINE are the log's next lines, or all that a new log has
log_line() {
    if [ "$wants_new_log" = 1 ]; then
        new_log "$1"
        return
    fi
    [ "$((record_bytes + ${#1}))" -gt 0 ] || return 0
    [ "$record_bytes" -le "$most_ahead" ] || printf '%s %s\n' "$log" "$((log_bytes + record_bytes))" >"$data/edits.long"
    if { records && printf '%s' "$1"; } >>"$data/edits"; then
        log_bytes=$((log_bytes + record_bytes + ${#1}))
        return
    fi
    cut "$data/edits" "$log_bytes" || fail halfway "$(probe)" || return
    fail write "$(probe)"
}

cut() { dd if=/dev/null of="$1" bs=1 seek="$2" 2>/dev/null; }

# Why nothing can be written: shells do not say it. The worker tries again, and then there is more room.
probe() {
    { head -c 100000 /dev/zero | cat >"$data/probe"; } 2>&1
    rm -f "$data/probe"
    make_room
}

# Of old files as of the last look, all but those with bytes that are not in the list.
make_room() {
    for name in $names; do
        case "$grown " in *" $name-"*) ;; *) rm -f "$data/old/$name" ;; esac
    done
}
