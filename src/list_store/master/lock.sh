# shellcheck shell=sh disable=SC2034,SC2154  # variables of the other parts
# The lock, which nobody holds while something is received or sent: a connection that hangs would hold it for hours.

lock() {
    command exec 9>>"$list.lock" || command exec 9<"$list.lock" || fail lock || return
    text=$(flock -w 2 9 2>&1) && return
    say waiting
    text=$(flock 9 2>&1) || fail lock "$text"
}

unlock() { exec 9>&-; }
