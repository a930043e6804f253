# shellcheck shell=sh disable=SC2034,SC2154  # variables of the other parts
# The lock, which nobody holds while something is received or sent: a connection that hangs would hold it for hours.

lock() {
    while :; do
        command exec 9>>"$list.lock" || command exec 9<"$list.lock" || fail lock || return
        wait_for_lock || return
        # Somebody may have replaced the file: others would lock another one.
        # shellcheck disable=SC3013  # where a shell has no such test, $has_ef is empty
        if [ -z "$has_ef" ] || ! [ -e /dev/fd/9 ] || [ "$list.lock" -ef /dev/fd/9 ]; then return; fi
    done
}

# A long wait is one of steps: after each, the worker says whose signs of life are due. Without -w there are no steps.
wait_for_lock() {
    if [ -z "$has_wait" ]; then
        say blocked
        text=$(flock 9 2>&1) || fail lock "$text"
        return
    fi
    flock -w 1 9 2>/dev/null && return
    while :; do
        say waiting
        read -r step text || exit 1
        for sign in $text; do
            give_sign "${sign%%=*}" "${sign#*=}" || fail write || return
        done
        text=$(flock -w "$step" 9 2>&1) && return
        # The time is over, and nothing else was wrong.
        { [ $? = 1 ] && [ -z "$text" ]; } || fail lock "$text" || return
    done
}

# Some print nothing and return 1 at once, some refuse the option; what says so is a file that nobody else locks.
probe_wait() {
    has_wait=
    ! flock -w 1 9 9>"$data/received.$$.$mark" || has_wait=1
    rm -f "$data/received.$$.$mark"
} 2>/dev/null

unlock() { exec 9>&-; }
