# shellcheck shell=bash
# eventually SECONDS COMMAND...: true once the command succeeds, false when it did not in time. For other programs
# that tell nobody when they are ready; the one place of the tests that pauses.
eventually() {
    local deadline=$((SECONDS + $1 * ${WQ_PATIENCE:-1}))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$deadline" ] || return 1
        sleep 0.05
    done
}
