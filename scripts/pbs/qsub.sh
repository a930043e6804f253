# shellcheck shell=sh
# What PBS and Torque share, for their drivers, which define
#
#   resources   prints what a worker needs, as qsub's -l has it
#   ARRAY       qsub's option for the numbers of an array
#   FULL        qstat's options that list every task of an array with all its attributes
#
# An id is 13.server, or of an array 13[].server with the tasks 13[2].server. Slurm has a qsub as well, which names a bare
# number: such jobs are Slurm's, and its own driver knows them; Slurm's qdel of a task would remove the whole array.

# shellcheck source=scripts/driver.sh
. "${0%/*}/../driver.sh"

# shellcheck disable=SC2034  # for driver.sh
OPTIONS='-p --parameters;WORDS;more arguments of qsub; a shell splits WORDS into words
-j;;accepted, but not needed: all workers are one job array'
# -S: without it a job's shell is the user's own, whatever the script's first line names.
# shellcheck disable=SC2034
COMMAND='qsub -S /bin/sh -j oe'
SLURM=${0%/*}/../slurm/driver

# The name of the job is unique, for find_job. PBS brings a job's output home at its end, to a path in which not every
# system can have a number; so jobs write their logs themselves, and this is for what comes before.
# All resources are in one -l, as Slurm's qsub heeds only the last.
request() {
    no_colon qsub
    add -N "${WORKERS_SCRIPT##*/}" -o "$WORKERS_LOG.out" -l "$(resources)"
    [ "$WORKERS_COUNT" -eq 1 ] || add "$ARRAY" "1-$WORKERS_COUNT"
}

# limit: the time limit, as one of the resources.
limit() {
    ! asked "$WORKERS_SECONDS" ||
        printf ',walltime=%02d:%02d:%02d' $((WORKERS_SECONDS / 3600)) $((WORKERS_SECONDS / 60 % 60)) $((WORKERS_SECONDS % 60))
}

# shellcheck disable=SC2016  # the job's variables
first() {
    echo 'job=${PBS_JOBID:-${SLURM_JOB_ID:-$$}}'
    printf 'exec >%s".${job%%%%.*}.log" 2>&1\n' "$(quote "$WORKERS_LOG")"
}

read_ids() { sed -n 's/^\([0-9][0-9]*\(\[\]\)\{0,1\}\(\.[A-Za-z0-9.-]*\)\{0,1\}\)$/\1/p' | tail -n 1; }
task_ids() {
    case $1 in
    *'[]'*) between='[' after=]${1#*]} ;;
    *) between=_ after= ;;
    esac
    awk -v job="${1%%[!0-9]*}" -v between="$between" -v after="$after" -v count="$WORKERS_COUNT" '
        BEGIN { for (i = 1; i <= count; ++i) print job between i after }'
}

told() { printf '%s\n' "$1" | sed 's/\[[0-9]*\]/[]/; s/_[0-9]*$//'; }

find_job() {
    name=${WORKERS_SCRIPT##*/}
    listed=$(ask qselect -N "$name") || listed=$(ask squeue --noheader --me --name="$name" --format=%F) || return
    printf '%s\n' "$listed" |
        sed 's/\[[0-9]*\]/[]/' | read_ids
}

is_slurms() { case $1 in *[!0-9_]*) return 1 ;; esac; }

listing() {
    if is_slurms "$1"; then
        "$SLURM" status "$@"
        return
    fi
    # Each array once. qstat ends with 153 if it does not know one of these jobs, and with 35 if one has ended.
    # shellcheck disable=SC2046,SC2086  # lists of words; no id has a blank or a star
    set -- $(printf '%s\n' "$@" | sed 's/\[[0-9]*\]/[]/' | sort -u)
    code=0
    # shellcheck disable=SC2086
    ask qstat $FULL "$@" || code=$?
    # 36: this PBS keeps no record of ended jobs, and refuses to show them.
    if [ "$code" -eq 36 ]; then
        code=0
        ask qstat -f -t "$@" || code=$?
    fi
    case $code in 153 | 35) code=0 ;; esac
    return "$code"
}

states() {
    awk '
        /^[0-9_]+ / { print } # by the driver of Slurm
        /^Job Id: / { report(); id = $3 }
        /^ *job_state = / { state = $3 }
        /^ *[Ee]xit_status = / { how = "exit " $3 }
        function report() {
            if (id != "" && state ~ /^[RBE]$/) print id, "running"
            else if (id != "" && state ~ /^[FXC]$/) print id, "ended", how == "" ? state : how
            else if (id != "") print id, "pending", state
            id = state = how = ""
        }
        END { report() }'
}

remove() { if is_slurms "$1"; then "$SLURM" remove "$@"; else ask qdel "$@"; fi; }
