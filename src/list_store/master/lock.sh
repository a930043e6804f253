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

# Somebody may edit the list for longer than the leases of who waits: signs are given meanwhile.
wait_for_lock() {
    say waiting
    until text=$(flock -w 1 9 2>&1); do
        if [ "$text" ]; then # an error, or a flock without -w
            text=$(flock 9 2>&1) || fail lock "$text"
            return
        fi
        for sign in $given; do printf '%-20s\n' "${sign#*=}" 1<>"$data/alive/${sign%%=*}"; done
    done
}

unlock() { exec 9>&-; }
