# shellcheck shell=sh disable=SC2034,SC2154  # variables of the other parts
# The lock, which nobody holds while something is received or sent: a connection that hangs would hold it for hours.

lock() {
    while :; do
        command exec 9>>"$list.lock" || command exec 9<"$list.lock" || fail lock || return
        flock -w 2 9 2>/dev/null || wait_for_lock || return
        # Somebody may have replaced the file: others would lock another one.
        # shellcheck disable=SC3013  # where a shell has no such test, $has_ef is empty
        if [ -z "$has_ef" ] || ! [ -e /dev/fd/9 ] || [ "$list.lock" -ef /dev/fd/9 ]; then return; fi
    done
}

wait_for_lock() {
    say waiting
    text=$(flock 9 2>&1) || fail lock "$text"
}

unlock() { exec 9>&-; }
