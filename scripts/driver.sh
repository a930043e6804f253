# shellcheck shell=sh
# What the drivers of batch systems share (submit_workers.sh says what a driver does). A driver defines
#
#   OPTIONS           a line for each option of its own
#   COMMAND           the system's command that submits
#   request OPTION... adds the words of a request (WORKERS_*) to SUBMIT
#   read_ids          reads what COMMAND printed; prints the job's id, or nothing
#   task_ids ID       prints the ids of the array's tasks
#   listing ID...     prints what the system says of the jobs
#   states            reads that; prints lines "ID STATE [DETAIL]", also of other jobs
#   remove ID...      ends the jobs
#
# and may define
#
#   TRAITS            see submit_workers.sh
#   first             see submit_workers.sh
#   told ID           see submit_workers.sh; without it, the id
#   find_job          prints the id of the job of WORKERS_SCRIPT (whose name is unique), if it waits or runs, else
#                     nothing; not 0 if the system does not tell
#   unconfigured TEXT whether COMMAND, which failed with these messages, knows of no such system here
#   end_command       adds what follows the words after --, instead of the script
#
# Then it calls: drive "$@". Each call of the system is by `ask`, so that one that hangs is ended.

# shellcheck source=scripts/quote.sh
. "${WORKERS_SCRIPTS:-${0%/*}/..}/quote.sh"

# add WORD...: to the command.
add() { for word in "$@"; do SUBMIT="$SUBMIT $(quote "$word")"; done; }

# no_colon COMMAND: for systems where a path of a log is HOST:PATH.
no_colon() {
    case $WORKERS_LOG in *:*)
        echo "${WORKERS_LOG%/*}: $1 takes what is before a ':' for a host; use another --scratch-dir" >&2
        exit 1
        ;;
    esac
}

# asked AMOUNT: whether a request names this amount, and not 0.
asked() { [ "${1:-0}" -gt 0 ]; }

# ask COMMAND...: runs it, for a limited time; afterwards it is ended, and a line says so.
PATIENCE=${WORKERS_PATIENCE:-60}
ask() {
    asked_code=0
    timeout -k 5 "$PATIENCE" "$@" || asked_code=$?
    case $asked_code in 124 | 137) echo "$1 did not answer within $PATIENCE s" >&2 ;; esac
    return "$asked_code"
}

TRAITS=
first() { :; }
told() { printf '%s\n' "$1"; }
find_job() {
    echo "this system cannot look for jobs by their name" >&2
    return 64
}
unconfigured() { false; }
end_command() { add "$WORKERS_SCRIPT"; }

# only ID...: of lines "ID STATE [DETAIL]", those with one of these ids; the other ids are unknown.
only() {
    awk 'BEGIN { for (count = ARGC; i < count; ++i) id[i] = ARGV[i]; for (i = 1; i < count; ++i) wanted[id[i]] = 1; ARGC = 1 }
        $1 in wanted { print; delete wanted[$1] }
        END { for (i = 1; i < count; ++i) if (id[i] in wanted) print id[i], "unknown" }' "$@"
}

# If the system does not answer, nothing is known; so the jobs are not called unknown then.
status() {
    listed=$(listing "$@") || return
    printf '%s\n' "$listed" | states | only "$@"
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
    request "$@"
    SUBMIT=$SUBMIT$PARAMETERS
    while [ $# -gt 0 ] && [ "$1" != -- ]; do shift; done
    [ $# -eq 0 ] || shift
    add "$@"
    end_command
}

submit() {
    if ! command -v "${COMMAND%% *}" >/dev/null; then
        echo "there is no ${COMMAND%% *} here: run this where jobs are submitted" >&2
        return 1
    fi
    command_of "$@"
    id='' code=0
    messages=$(mktemp) || return 1
    said=$(eval "ask $SUBMIT" </dev/null 2>"$messages") || code=$?
    cat "$messages" >&2
    complaint=$(cat "$messages")
    rm -f "$messages"
    if [ "$code" -ne 0 ] && unconfigured "$complaint"; then
        echo "${COMMAND%% *} is not configured here: run this where jobs are submitted" >&2
        return 1
    fi
    [ "$code" -ne 0 ] || id=$(printf '%s\n' "$said" | read_ids)
    looked=0
    [ -n "$id" ] || id=$(find_job 2>/dev/null) || looked=$?
    if [ -z "$id" ]; then
        [ -z "$said" ] || echo "${COMMAND%% *} named no job: $said" >&2
        # 64: it cannot look, but said that it refused.
        case $code-$looked in [1-9]*-64 | *-0) ;; *) return 124 ;; esac
        case $code in 124 | 137) return 124 ;; esac
        return 1
    fi
    if [ "$WORKERS_COUNT" -eq 1 ]; then echo "$id"; else task_ids "$id"; fi
}

find() {
    id=$(find_job) || return
    if [ -z "$id" ] || [ "${WORKERS_COUNT:-1}" -eq 1 ]; then echo "$id"; else task_ids "$id"; fi
}

drive() {
    verb=$1
    shift
    case $verb in
    options) printf '%s\n' "$OPTIONS" ;;
    traits) printf '%s\n' "$TRAITS" ;;
    render) command_of "$@" && printf '%s\n' "$SUBMIT" ;;
    first | submit | told | status | remove | find) "$verb" "$@" ;;
    *)
        echo "driver: there is no verb $verb" >&2
        return 64
        ;;
    esac
}
