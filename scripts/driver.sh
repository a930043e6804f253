# shellcheck shell=sh
# What the drivers of batch systems share (submit_workers.sh says what a driver does). A driver defines
#
#   OPTIONS           a line for each option of its own
#   COMMAND           the system's command that submits
#   request           adds the words of a request (WORKERS_*) to SUBMIT
#   read_ids          reads what COMMAND printed; prints the job's id, or nothing
#   task_ids ID       prints the ids of the array's tasks
#   status ID...      see submit_workers.sh
#   remove ID...
#
# and may define find_job, which prints the id of the job of WORKERS_SCRIPT (whose name is unique), if it is there
# although COMMAND failed. Then it calls: drive "$@"

# shellcheck source=scripts/quote.sh
. "${0%/*}/../quote.sh"

# add WORD...: to the command.
add() { for word in "$@"; do SUBMIT="$SUBMIT $(quote "$word")"; done; }

# asked AMOUNT: whether a request names this amount, and not 0.
asked() { [ "${1:-0}" -gt 0 ]; }

find_job() { :; }

# only ID...: of lines "ID STATE [DETAIL]", those with one of these ids; the other ids are unknown.
only() {
    awk 'BEGIN { for (i = 1; i < ARGC; ++i) wanted[ARGV[i]] = 1; ARGC = 1 }
        $1 in wanted { print; delete wanted[$1] }
        END { for (id in wanted) print id, "unknown" }' "$@"
}

# parameters [OPTION...]: the words of all -p, as a shell reads them.
parameters() {
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        case $1 in
        -p | --parameters)
            printf ' %s' "$2"
            shift 2
            ;;
        *) shift ;;
        esac
    done
}

# command_of [OPTION...] [-- WORD...]: makes SUBMIT, a line for a shell.
command_of() {
    SUBMIT=$COMMAND
    PARAMETERS=$(parameters "$@")
    request
    SUBMIT=$SUBMIT$PARAMETERS
    while [ $# -gt 0 ] && [ "$1" != -- ]; do shift; done
    [ $# -eq 0 ] || shift
    add "$@" "$WORKERS_SCRIPT"
}

submit() {
    if ! command -v "${COMMAND%% *}" >/dev/null; then
        echo "there is no ${COMMAND%% *} here: run this where jobs are submitted" >&2
        return 1
    fi
    command_of "$@"
    id=
    if said=$(eval "$SUBMIT" </dev/null); then id=$(printf '%s\n' "$said" | read_ids); fi
    [ -n "$id" ] || id=$(find_job 2>/dev/null)
    if [ -z "$id" ]; then
        [ -z "$said" ] || echo "${COMMAND%% *} named no job: $said" >&2
        return 1
    fi
    if [ "$WORKERS_COUNT" -eq 1 ]; then echo "$id"; else task_ids "$id"; fi
}

drive() {
    verb=$1
    shift
    case $verb in
    options) printf '%s\n' "$OPTIONS" ;;
    render) command_of "$@" && printf '%s\n' "$SUBMIT" ;;
    submit | status | remove) "$verb" "$@" ;;
    *)
        echo "driver: there is no verb $verb" >&2
        return 64
        ;;
    esac
}
