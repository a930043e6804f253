# shellcheck shell=bash
# Runs of work_queue_run on the hosts, and the checks after each. Source it after hosts.sh; WORK must be set.
COMMAND=$BUILD/bin/work_queue_run

# plain_tasks COUNT, grouped_tasks COUNT: tasks that each add one line to DONE/NUMBER, so that repeated ones show.
# Plain ones have one shape (batches and tickets); grouped ones are leased one by one.
DONE=$WORK/done
plain_tasks() {
    local i
    for ((i = 1; i <= $1; ++i)); do echo "echo \$(hostname) >> $DONE/$i"; done
}
grouped_tasks() {
    local i
    for ((i = 1; i <= $1; ++i)); do echo "echo \$(hostname) >> $DONE/$i #+group$((i % 7))"; done
}

# held_tasks FIRST LAST: like plain ones, but they end only once the gate is open, to keep a run from ending;
# WORK/began.NUMBER names the host where one started.
held_tasks() {
    local i
    for ((i = $1; i <= $2; ++i)); do
        echo "hostname > $WORK/began.$i; until [ -e $WORK/gate ]; do sleep 0.1; done; echo \$(hostname) >> $DONE/$i"
    done
}

# meeting COUNT: tasks that end once all of them have begun, and leave a mark as plain ones do. The marks of their beginnings are
# in the folder of the run.
meeting() {
    local i
    for ((i = 1; i <= $1; ++i)); do
        echo "hostname > began.$i; until [ \"\$(ls began.* | wc -l)\" -eq $1 ]; do sleep 0.1; done; echo \$(hostname) >> $DONE/$i"
    done
}

# fresh_run: forgets earlier runs; RUN_DIR is the next one's.
fresh_run() {
    RUN_DIR=$WORK/run
    rm -rf "$DONE" "$RUN_DIR" "$WORK"/began.* "$WORK/gate"
    mkdir -p "$DONE"
}

# on_ranks HOST:COUNT,... [OPTION...]: mpirun of the list WORK/list from the first host.
on_ranks() {
    local hosts=$1
    shift
    on "${hosts%%[:,]*}" mpirun --host "$hosts" "$COMMAND" --run-dir "$RUN_DIR" --progress never "$@" "$WORK/list" \
        >"$WORK/out" 2>"$WORK/err"
}

# Processes of the ranks of a host: guards are children of what mpirun or Slurm started there, ranks are children of
# guards.
guards_on() { commands_on "$1" '!='; }
ranks_on() { commands_on "$1" '='; }
commands_on() {
    local id parent
    for id in $(processes "$1" work_queue_run); do
        parent=$(ps -o ppid= -p "$id" | tr -d ' ') || continue
        if [ "$2" = '=' ]; then
            # The child of a guard, and not of a rank.
            is_command "$parent" && ! is_command "$(ps -o ppid= -p "$parent" | tr -d ' ')" && echo "$id"
        else
            is_command "$parent" || echo "$id"
        fi
    done
}
is_command() { [ "$(cat "/proc/$1/comm" 2>/dev/null)" = work_queue_run ]; }

# How many of the tasks 1..COUNT have run, and how many of them more than once.
count_done() { find "$DONE" -type f | wc -l; }
count_repeated() { find "$DONE" -type f -size +0 -exec sh -c 'for f; do [ "$(wc -l <"$f")" -le 1 ] || echo "$f"; done' _ {} + | wc -l; }
at_least_done() { [ "$(count_done)" -ge "$1" ]; }

# successes: the numbers of the tasks that ended with 0 according to the joblog.
successes() { awk -F '\t' 'NR > 1 && $7 == 0 && $8 == 0 { print $1 }' "$RUN_DIR/joblog.tsv"; }

# expect_complete COUNT: each task is in the joblog as a success exactly once, and left its mark.
expect_complete() {
    expect "tasks that left a mark" "$(count_done)" "$1"
    expect "tasks with a success in the joblog" "$(successes | sort -u | wc -l)" "$1"
    expect "successes in the joblog" "$(successes | wc -l)" "$1"
}

# nothing_left HOST...: no process of a task or of ours runs on these hosts.
nothing_left() {
    local host
    for host in "$@"; do
        [ -z "$(processes "$host" work_queue_run)$(processes "$host" sleep)$(processes "$host" bash)" ] || return 1
    done
}

show_run() {
    echo "--- last lines of the run:"
    tail -n 20 "$WORK/out" "$WORK/err"
}
trap 'case $? in 0 | 77) ;; *) show_run ;; esac' EXIT
