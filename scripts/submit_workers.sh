# shellcheck shell=sh
# What all *_submit_workers share: options, the script of a worker's job, and one call of the batch system's driver.
# Sourced by SYSTEM/SYSTEM_submit_workers and submit_workers, with DRIVER set. All that is special to a system is in its
# driver:
#
#   DRIVER options                     its own options, a line each: NAME...;VALUE;TEXT (no VALUE: a flag)
#   DRIVER traits                      words, or nothing:
#                                      here:   jobs run on this machine
#                                      travel: jobs see no folder of this machine. The system sends them the files of
#                                              WORKERS_FILES, which they find by name in the folder where they start
#                                      sizes:  the driver gives --cores, --memory and --disk as arguments to the script
#   DRIVER first                       prints lines that a job's script begins with
#   DRIVER render [OPTION...] [-- WORD...]   prints the command that submits
#   DRIVER submit [OPTION...] [-- WORD...]   submits in one call of the system; prints ids, one a line. The WORDs go
#                                      to the system's command as they are. Errors: one line, and not 0; 124: the
#                                      system did not answer, and it is not known whether it took the jobs
#   DRIVER status ID...                in one call of the system: ID STATE [DETAIL], a line each; STATE is pending,
#                                      running, stuck (in the queue, and will not run), ended (DETAIL: how) or unknown
#   DRIVER told ID             prints what the system's command tells its users of the submission of this job
#   DRIVER remove ID...
#   DRIVER find                        the ids, as submit prints them, if jobs of WORKERS_SCRIPT wait or run, else nothing;
#                                      not 0 if the system does not tell
#
# A request is in the environment: WORKERS_COUNT; WORKERS_CORES, _MEMORY and _DISK (MB), _GPUS and _SECONDS of each
# (empty: not asked for); WORKERS_SCRIPT, what a job runs; WORKERS_LOG, the path and first letters of its logs;
# WORKERS_FILES, what the script needs: paths, as words for a shell. WORKERS_PATIENCE: how many seconds a call of the
# system may take (default: 60). WORKERS_SCRIPTS: the folder of this file; a driver elsewhere may source driver.sh there.

WORKERS_SCRIPTS=${WORKERS_SCRIPTS:-${DRIVER%/*}/..}
export WORKERS_SCRIPTS
# shellcheck source=scripts/quote.sh
. "$WORKERS_SCRIPTS/quote.sh"

ME=${0##*/}
SEE=" (see $ME --help)"
FOR_FACTORY=
NL='
'

# warn TEXT: a line on stderr, without bytes that control the terminal.
warn() { printf '%s: %s\n' "$ME" "$(printf '%s' "$*" | tr '\n' ' ' | LC_ALL=C tr '\000-\037\177' '?')" >&2; }

# fail CODE TEXT: codes as those of work_queue_run.
fail() {
    code=$1
    shift
    warn "$@"
    exit "$code"
}

# Options of work_queue_worker that are passed on, by whether they take a value.
WITH_VALUE=' -M -N --manager-name --master-name --project-name --name -C --catalog -t --timeout --idle-timeout --connect-timeout -i
 --min-backoff -b --max-backoff -w --tcp-window-size -z --disk-threshold --memory-threshold -d --debug -o --debug-file
 --debug-rotate-max -A --arch -O --os -s --workdir --bind --threads-per-core --feature --keep-cache --url-timeout
 --grace --task-wrapper --from-factory --volatility --coprocesses-total --num_coprocesses --coprocess-cores --coprocess_cores
 --coprocess-memory --coprocess_memory --coprocess-disk --coprocess_disk --coprocess-gpus --coprocess_gpus '
ALONE=' -a --advertise --ssl --single-shot --parent-death '
FILES=' --contact -P --password --ssl-ca --coprocess ' # their value is a file that the job has to find
SIZES=' --cores --memory --disk --gpus '
OURS=' -E --worker-options --extra-options --wall-time --walltime --scratch-dir --worker-start-cmd --worker-binary --wrapper
 --job-name '

# answer TEXT: on stdout, as all that was asked for.
answer() {
    { printf '%s\n' "$1"; } 2>/dev/null || fail 71 "cannot write to stdout: its disk is full, or it is closed"
    exit 0
}

has() { case $1 in *[[:space:]]"$2"[[:space:]]*) return 0 ;; esac; return 1; }

# driver_takes OPTION: value, alone, or nothing if the driver does not know it.
driver_takes() {
    printf '%s\n' "$DRIVER_OPTIONS" | while IFS=';' read -r names value _; do
        has " $names " "$1" || continue
        [ -n "$value" ] && echo value || echo alone
        break
    done
}

# of_another_system OPTION: a factory ignores the options of other batch systems than its own.
of_another_system() { case $FOR_FACTORY$1 in 1--batch-options | 1--condor-requirements | 1--autosize) return 0 ;; esac; return 1; }

help() {
    cat <<HELP
Usage: $ME [OPTIONS] HOST PORT [N]
       $ME [OPTIONS] --contact FILE [N]
       $ME [OPTIONS] -M NAME [--catalog HOST[:PORT],...] [N]

Submits N workers (default: 1) to the batch system. The workers serve the
manager at HOST PORT, the manager of the contact FILE, or managers of that NAME.
They leave after 15 minutes without a task (-t).

Options of each worker, and of the request to the batch system:
  --cores N                    cores (default: what the batch system gives)
  --memory MB                  memory in MB, or a size such as 4G
  --disk MB                    disk space in MB, or a size such as 20G
  --gpus N                     GPUs
  --wall-time TIME             time limit of the worker: 90 (seconds), 1h30m or
                               D-HH:MM:SS. The worker drains before this limit
  --wrapper TEXT               run the worker as TEXT work_queue_worker ...
  --worker-start-cmd TEXT      shell lines to run before the worker, e.g.
                               'module load x'
  -E, --worker-options TEXT    more options of work_queue_worker; a shell splits
                               TEXT into words
You may also give any option of work_queue_worker except --detect; each worker
gets these options.

Options of the submission:
  --scratch-dir DIR            folder for scripts and logs; the nodes must see
                               this folder (default: ./USER-workers)
  --worker-binary FILE         work_queue_worker to copy to this folder
                               (default: beside this command, or in PATH)
  --dry-run                    print what would be submitted
  --json                       print the ids of the jobs as JSON
  -- WORD...                   pass each WORD unchanged to the batch system's
                               command
  -h, --help                   print this help and exit
  -v, --version                print the version and exit

Options of this batch system:
HELP
    printf '%s\n' "$DRIVER_OPTIONS" | awk -F ';' '{
        text = substr($0, length($1 $2) + 3)
        gsub(/ /, ", ", $1)
        line = sprintf("  %-28s", $1 ($2 == "" ? "" : " " $2))
        if (length(line) > 30) {
            print line
            line = sprintf("%30s", "")
        }
        count = split(text, words, " ")
        for (i = 1; i <= count; ++i) {
            if (length(line) + length(words[i]) > 79) {
                print line
                line = sprintf("%30s", "")
            }
            line = line " " words[i]
        }
        print line
    }'
    cat <<HELP

Examples:
  $ME --cores 4 --memory 8000 --wall-time 2h login1 9123 10
  $ME --contact tasks.sh.wq/contact 10

Exit codes: 0 submitted, 64 wrong options, 65 wrong files, 69 the batch system
refused or did not answer, 77 not allowed.
HELP
}

# The release: installed, a file names it; a checkout has it in the build's description.
version() {
    parts=${DRIVER%/*}/..
    cat -- "$parts/version" 2>/dev/null || sed -n 's/^project(work_queue VERSION \([0-9.]*\).*/\1/p' "$parts/../CMakeLists.txt"
}

# whole OPTION VALUE: a number without sign; prints it without the zeros that would make it octal.
whole() {
    case $2 in '' | *[!0-9]* | ??????????*) fail 64 "$1 $2: not a number" ;; esac
    number=${2#"${2%%[!0]*}"}
    echo "${number:-0}"
}

# in_range NUMBER MOST: from 1.
in_range() {
    case $1 in '' | *[!0-9]* | ????????*) return 1 ;; esac
    [ "$1" -ge 1 ] && [ "$1" -le "$2" ]
}

# megabytes OPTION VALUE: of 4000 (MB) or 4G.
megabytes() {
    number=$(whole "$1" "${2%[KkMmGgTt]}") || exit
    case $2 in
    *[Kk]) echo $(((number + 1023) / 1024)) ;;
    *[Gg]) echo $((number * 1024)) ;;
    *[Tt]) echo $((number * 1048576)) ;;
    *) echo "$number" ;;
    esac
}

# seconds OPTION VALUE: of 90, 1h30m, 2:00:00 or 1-02:00:00; at most 100 years.
seconds() {
    printf '%s\n' "$2" | awk '
        /^[0-9]+$/ { sum = $0; ok = 1 }
        /^([0-9]+-)?[0-9]+:[0-9]+(:[0-9]+)?$/ {
            days = index($0, "-") ? substr($0, 1, index($0, "-") - 1) : 0
            n = split(substr($0, index($0, "-") + 1), part, ":")
            sum = days * 86400 + part[1] * 3600 + part[2] * 60 + (n == 3 ? part[3] : 0); ok = 1
        }
        /^([0-9]+[dhms])+$/ {
            left = $0
            while (match(left, /^[0-9]+[dhms]/)) {
                unit = substr(left, RLENGTH, 1)
                sum += substr(left, 1, RLENGTH - 1) * (unit == "d" ? 86400 : unit == "h" ? 3600 : unit == "m" ? 60 : 1)
                left = substr(left, RLENGTH + 1)
            }
            ok = 1
        }
        END {
            if (!ok || sum > 3153600000) exit 1
            printf "%.0f\n", sum
        }' || fail 64 "$1 $2: not a time such as 90, 1h30m or 1-02:00:00, up to 100 years"
}

# file OPTION PATH: its full path, as the job runs in another folder.
file() {
    if [ ! -f "$2" ] || [ ! -r "$2" ]; then fail 65 "$1 $2: no such file, or it cannot be read"; fi
    # shellcheck disable=SC2012  # its own mode and name only
    case $1:$(ls -ld -- "$2" | cut -c5-10) in
    --contact:------ | --ssl-ca:* | --coprocess:*) ;;
    --contact:*) fail 77 "$1 $2: others may read it, and with it join or imitate the manager; run: chmod go= $(quote "$2")" ;;
    *:?w???? | *:????w?) fail 77 "$1 $2: others may change it, and so choose the password; run: chmod go= $(quote "$2")" ;;
    *:r????? | *:???r??) warn "warning: $1 $2: others may read it, and with it join or imitate the manager; run: chmod go= $(quote "$2")" ;;
    esac
    case $2 in /*) printf '%s\n' "$2" ;; *) printf '%s/%s\n' "$PWD" "$2" ;; esac
}

# running CONTACT: whether its manager may still run. The manager removes its contact file when it ends, so one that is
# older than the status of an ended run is left over, or a copy.
running() {
    status=${1%/*}/status
    if state=$(sed -n 's/^state=\(finished\|failed\|interrupted\)$/\1/p' "$status" 2>/dev/null) && [ -n "$state" ] &&
        [ -z "$(find "$1" -newer "$status")" ]; then
        fail 65 "--contact $1: its run has ended ($state); give the contact file of one that is running"
    fi
    host=$(sed -n 's/^ *"host": "\(.*\)",*$/\1/p' "$1")
    id=$(sed -n 's/^ *"pid": \([0-9][0-9]*\),*$/\1/p' "$1")
    [ "$host" != "$(uname -n)" ] || [ -z "$id" ] || [ -d "/proc/$id" ] ||
        warn "warning: --contact $1: its manager (process $id on this host) is not running"
}

# take OPTION [VALUE]
take() {
    case $1 in
    --cores) CORES=$(whole "$@") || exit ;;
    --gpus) GPUS=$(whole "$@") || exit ;;
    --memory) MEMORY=$(megabytes "$@") || exit ;;
    --disk) DISK=$(megabytes "$@") || exit ;;
    --wall-time | --walltime) SECONDS_OF_JOB=$(seconds "$@") || exit ;;
    -E | --worker-options | --extra-options) EXTRA="$EXTRA $2" ;;
    --scratch-dir) FOLDER=$2 ;;
    --worker-start-cmd) START=$2 ;;
    --worker-binary) BINARY=$2 ;;
    --wrapper) WRAPPER="$2 " ;;
    --job-name)
        case $2 in '' | *[!A-Za-z0-9_-]* | [!A-Za-z]* | ????????????????*) fail 64 "--job-name $2: up to 15 letters, digits, _ and -, a letter first" ;; esac
        NAME=$2
        ;;
    --contact | -P | --password | --ssl-ca | --coprocess)
        path=$(file "$@") || exit
        [ "$1" != --contact ] || running "$path"
        SENT="$SENT $(quote "$path")"
        if has "$TRAITS" travel; then
            case $SENT_NAMES in */"${path##*/}"/*) fail 65 "$1 $2: another file that is sent to the jobs has this name" ;; esac
            SENT_NAMES=$SENT_NAMES${path##*/}/ path=./${path##*/}
        fi
        WORKER="$WORKER $1 $(quote "$path")"
        ;;
    *) WORKER="$WORKER $1${2+ $(quote "$2")}" ;;
    esac
    case $1 in --contact | -M | -N | --manager-name | --master-name | --project-name | --name) NAMED=$1 ;; esac
}

# most_similar WORD: "; did you mean OPTION?", of the option that differs in two letters, a long one in three; else where to look.
most_similar() {
    # shellcheck disable=SC2046,SC2086  # words
    similar=$(printf '%s\n' $WITH_VALUE $FILES $SIZES $OURS $ALONE --dry-run --json --help --version \
        $(printf '%s\n' "$DRIVER_OPTIONS" | sed 's/;.*//') |
        awk -v word="$1" '
        function distance(a, b,    i, j, row, diagonal, least) {
            for (j = 0; j <= length(b); ++j) row[j] = j
            for (i = 1; i <= length(a); ++i) {
                diagonal = row[0]
                row[0] = i
                for (j = 1; j <= length(b); ++j) {
                    least = diagonal + (substr(a, i, 1) != substr(b, j, 1))
                    diagonal = row[j]
                    if (diagonal + 1 < least) least = diagonal + 1
                    if (row[j - 1] + 1 < least) least = row[j - 1] + 1
                    row[j] = least
                }
            }
            return row[length(b)]
        }
        BEGIN { best = 4 }
        length($0) > 4 && length(word) < 100 && (now = distance(word, $0)) < best && (now < 3 || length($0) > 8) { best = now; name = $0 }
        END { print name }')
    [ -n "$similar" ] && echo "; did you mean $similar?" || echo "$SEE"
}

parse() {
    while [ $# -gt 0 ]; do
        word=$1
        shift
        case $word in
        --)
            for word in "$@"; do BATCH="$BATCH $(quote "$word")"; done
            return
            ;;
        -h | --help) answer "$(help)" ;;
        -v | --version) answer "$ME $(version)" ;;
        --dry-run) DRY=1 && continue ;;
        --json) JSON=1 && continue ;;
        --*=*) name=${word%%=*} value=${word#*=} glued=1 ;;
        --*) name=$word glued= ;;
        -[0-9]*) fail 64 "$word: the number of workers is 1 to 100000" ;;
        -?*) # -E'--ssl' is -E --ssl
            value=${word#-?} name=${word%"${word#-?}"} glued=${word#-?}
            ;;
        *)
            PLACES="$PLACES $(quote "$word")"
            continue
            ;;
        esac
        if has "$WITH_VALUE$FILES$SIZES$OURS" "$name"; then
            kind=value owner=take
        elif has "$ALONE" "$name"; then
            kind=alone owner=take
        else
            option=$name owner=driver kind=$(driver_takes "$name")
            if [ -z "$kind" ]; then
                case $name in --batch-options) option=--parameters ;; --condor-requirements) option=--requirements ;; esac
                kind=$(driver_takes "$option")
            fi
            if [ -z "$kind" ] && of_another_system "$name"; then
                [ "$name" = --autosize ] || [ -n "$glued" ] || shift
                continue
            fi
            [ -n "$kind" ] || fail 64 "unknown option $name$(most_similar "$name")"
        fi
        if [ "$kind" = alone ]; then
            [ -z "$glued" ] || fail 64 "$name takes no value"
            if [ $owner = take ]; then take "$name"; else OPTIONS="$OPTIONS $option"; fi
            continue
        fi
        if [ -z "$glued" ]; then
            [ $# -gt 0 ] || fail 64 "$name needs a value"
            value=$1
            shift
        fi
        if [ $owner = take ]; then
            take "$name" "$value"
        else
            case $value in *"$NL"*) fail 64 "$name: a line break is in it" ;; esac
            OPTIONS="$OPTIONS $option $(quote "$value")"
        fi
    done
}

# places [HOST PORT] [N]
places() {
    if [ -z "$NAMED" ]; then
        [ $# -ge 2 ] || fail 64 "needs HOST PORT, --contact FILE or -M NAME$SEE"
        in_range "$2" 65535 || fail 64 "port $2: not a number from 1 to 65535"
        has "$TRAITS" here || case $1 in localhost | 127.*) fail 65 "$1: on another node, $1 is that node; give this host's name, $(uname -n)" ;; esac
        WORKER="$WORKER $(quote "$1") $2"
        shift 2
    fi
    [ $# -le 1 ] || fail 64 "too many words: $*"
    in_range "${1:-1}" 100000 || fail 64 "$1: the number of workers is 1 to 100000"
    COUNT=$(whole N "${1:-1}")
}

# is_our_worker FILE: CCTools has a program of the same name.
is_our_worker() { [ -x "$1" ] && [ ! -d "$1" ] && case $("$1" --version 2>/dev/null </dev/null) in 'work_queue_worker '[0-9]*) ;; *) false ;; esac; }

# find_worker: prints the path of the one beside this command, of this installation or in PATH.
find_worker() {
    { printf '%s\n' "${0%/*}" "${DRIVER%/*}/../../../bin" && printf '%s\n' "$PATH" | tr : '\n'; } | while IFS= read -r folder; do
        ! is_our_worker "$folder/work_queue_worker" || { printf '%s\n' "$folder/work_queue_worker" && break; }
    done
}

# The program that the jobs run, copied so that they find it, and the same one, wherever and whenever they start.
place_worker() {
    found=${BINARY:-$(find_worker)}
    [ -z "$BINARY" ] || { [ -f "$BINARY" ] && [ -x "$BINARY" ]; } || fail 65 "--worker-binary $BINARY: not a file that can be executed"
    [ -n "$found" ] || fail 69 "no work_queue_worker of this project: neither beside this command nor in PATH; give --worker-binary FILE"
    cmp -s "$found" "$FOLDER/work_queue_worker" && return
    if ! copy=$(mktemp "$FOLDER/.worker-XXXXXX") || ! cp -- "$found" "$copy" || ! chmod 700 "$copy" ||
        ! mv -f -- "$copy" "$FOLDER/work_queue_worker"; then
        rm -f -- "$copy"
        fail 77 "cannot copy $found to $FOLDER"
    fi
}

# The user's settings of MPI and catalog servers as lines of the script: jobs of most systems start without our environment.
# Another value may have a line like one.
settings() {
    for name in $(env | sed -n -E 's/^((OMPI_MCA|OMPI_ALLOW|PRTE_MCA|PRTE_ALLOW|PMIX_MCA|MPIR_CVAR|HYDRA|UCX)_[A-Za-z0-9_]+|CATALOG_(HOST|PORT))=.*/\1/p'); do eval "[ -z \"\${$name+there}\" ] || printf 'export %s=%s\\n' $name \"\$(quote \"\$$name\")\""; done
}

# What a job runs. It first says where it is and what it found there, so that the log of a dead worker says why.
job_script() {
    if has "$TRAITS" travel; then worker=./work_queue_worker$WORKER; else worker=$(quote "$FOLDER/work_queue_worker")$WORKER; fi
    # The next run has another contact file, which a copy of this one does not become.
    ! has "$TRAITS" travel || case "$NAMED $WORKER $EXTRA " in --contact*' --single-shot '*) ;; --contact*) worker="$worker --single-shot" ;; esac
    has "$TRAITS" sizes || worker=$worker${CORES:+ --cores $CORES}${MEMORY:+ --memory $MEMORY}${DISK:+ --disk $DISK}
    worker=$worker${GPUS:+ --gpus $GPUS}
    [ -z "$SECONDS_OF_JOB" ] || worker="$worker --wall-time $((SECONDS_OF_JOB > 120 ? SECONDS_OF_JOB - 60 : SECONDS_OF_JOB))"
    cat <<SCRIPT
#!/bin/sh
# A worker's job, by $ME
SCRIPT
    "$DRIVER" first || fail 70 "$DRIVER does not work"
    settings
    cat <<SCRIPT
echo "\$(date -u +%Y-%m-%dT%H:%M:%SZ) a worker starts on \$(hostname), as \$(id -un), in \$PWD"
echo "limits: \$(ulimit -a | tr -s ' ' | paste -sd\; -)"
SCRIPT
    # A worker without its module would fail all its tasks.
    [ -z "$START" ] || printf '{\n%s\n} || { echo "--worker-start-cmd failed: exit code $?" && exit 1; }\n' "$START"
    cat <<SCRIPT
set -- $WRAPPER$worker$EXTRA "\$@"
"\$@" --detect
exec "\$@"
SCRIPT
}

# Submits: sets ids, why (the errors, in one line) and code, the driver's. If it were left at a Ctrl-C, nobody would know
# whether there are jobs; so what it calls does not see one. Answers lie in a folder of their own, as the shared one may be
# full. 124: nobody knows whether there are jobs.
ask_driver() {
    trap 'echo "$ME: waiting for the answer of the batch system, to know whether it has the jobs" >&2' INT TERM HUP
    (
        trap '' INT HUP
        trap : TERM
        code=0
        eval "\"\$DRIVER\" submit $OPTIONS -- $BATCH" >"$ANSWERS/ids" 2>"$ANSWERS/err" || code=$?
        echo "$code" >"$ANSWERS/code"
    ) &
    while kill -0 $! 2>/dev/null; do wait $! || :; done # a signal ends wait
    ids=$(cat -- "$ANSWERS/ids" || :)
    why=$(tr -s '\n' ' ' <"$ANSWERS/err" | sed 's/ $//' || :)
    code=$(cat -- "$ANSWERS/code" 2>/dev/null || :)
    rm -rf -- "$ANSWERS"
    case ${code:-none} in
    0) [ -n "$ids" ] || code=124 ;;
    none) code=124 ;;
    *) [ "$code" -le 128 ] && [ -z "$ids" ] || code=124 ;; # killed, perhaps after it had submitted; or an answer that is cut
    esac
}

json_string() { printf '%s' "$1" | awk '{ gsub(/\\/, "\\\\"); gsub(/"/, "\\\""); gsub(/\t/, "\\t"); printf "%s%s", (NR > 1 ? "\\n" : ""), $0 }'; }

main() {
    USER=${USER:-$(id -un)}
    CORES='' MEMORY='' DISK='' GPUS='' SECONDS_OF_JOB='' EXTRA='' START='' BINARY='' WRAPPER='' NAME='' WORKER='' NAMED='' PLACES=''
    OPTIONS='' BATCH='' DRY='' JSON='' SENT='' SENT_NAMES=/work_queue_worker/ FOLDER=$PWD/$USER-workers
    if ! DRIVER_OPTIONS=$("$DRIVER" options) || ! TRAITS=" $("$DRIVER" traits) "; then fail 70 "$DRIVER does not work"; fi
    parse "$@"
    case $EXTRA in *"$NL"*) fail 64 "--worker-options: a line break is in it" ;; esac
    eval "places $PLACES"
    case $FOLDER in /*) ;; *) FOLDER=$PWD/$FOLDER ;; esac
    export WORKERS_COUNT="$COUNT" WORKERS_CORES="$CORES" WORKERS_MEMORY="$MEMORY" WORKERS_DISK="$DISK" WORKERS_GPUS="$GPUS" WORKERS_SECONDS="$SECONDS_OF_JOB"
    WORKERS_FILES=$(quote "$FOLDER/work_queue_worker")$SENT
    export WORKERS_FILES
    if [ -n "$DRY" ]; then
        WORKERS_LOG=$FOLDER/worker
        export WORKERS_LOG WORKERS_SCRIPT="$FOLDER/${NAME:-worker}"
        shown=$(eval "\"\$DRIVER\" render $OPTIONS -- $BATCH" 2>&1) || fail 69 "$shown"
        printf '== %s\n' "$WORKERS_SCRIPT"
        job_script
        printf '== command\n%s\n' "$shown"
        exit
    fi
    has "$TRAITS" travel || has "$TRAITS" here || case $FOLDER/ in /tmp/* | /var/tmp/* | /dev/shm/*) warn "warning: other nodes may not see $FOLDER; use --scratch-dir" ;; esac
    [ -d "$FOLDER" ] || (umask 077 && mkdir -p -- "$FOLDER") 2>/dev/null || fail 77 "cannot write in $FOLDER; use --scratch-dir"
    place_worker
    WORKERS_SCRIPT=$FOLDER/$NAME
    [ -z "$NAME" ] || (set -C && : >"$WORKERS_SCRIPT") 2>/dev/null || fail 65 "--job-name $NAME: there is a $WORKERS_SCRIPT; take another name"
    [ -n "$NAME" ] || WORKERS_SCRIPT=$(mktemp "$FOLDER/worker-XXXXXX") || fail 77 "cannot write in $FOLDER; use --scratch-dir"
    WORKERS_LOG=$WORKERS_SCRIPT
    export WORKERS_SCRIPT WORKERS_LOG
    if ! ANSWERS=$(mktemp -d); then
        rm -f -- "$WORKERS_SCRIPT"
        fail 77 "cannot write in ${TMPDIR:-/tmp}; set TMPDIR to another folder"
    fi
    if ! job_script >"$WORKERS_SCRIPT" || ! chmod 700 "$WORKERS_SCRIPT"; then
        rm -rf -- "$WORKERS_SCRIPT" "$ANSWERS"
        fail 77 "cannot write $WORKERS_SCRIPT"
    fi
    ask_driver
    case $code in
    0) ;;
    124) fail 75 "whether the workers were submitted is unknown: $why; look for jobs of $WORKERS_SCRIPT" ;;
    *)
        rm -f -- "$WORKERS_SCRIPT"
        fail 69 "nothing was submitted: ${why:-no reason was given}"
        ;;
    esac
    if [ -n "$JSON" ]; then
        printf '{"ids": [%s], "log": "%s"}\n' "$(printf '%s\n' "$ids" | sed 's/.*/"&"/' | paste -sd, -)" "$(json_string "$WORKERS_LOG")"
    else
        [ "$COUNT" -eq 1 ] && workers=worker || workers=workers
        warn "$COUNT $workers submitted ($(printf '%s\n' "$ids" | sed -n '1p; 2,$ { $p; }' | paste -sd- - | sed 's/-/ to /')); logs: $WORKERS_LOG.*.log"
        "$DRIVER" told "$(printf '%s\n' "$ids" | head -n 1)"
    fi
}
