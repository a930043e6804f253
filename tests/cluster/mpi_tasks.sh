# shellcheck shell=bash
# Tasks that are MPI programs, under the Slurm of slurm.sh, in each way of share/doc/cluster.md. Source it after runs.sh.
export WORK_QUEUE_SCRIPTS=/run/source/scripts
PROBE=$BUILD/tests/cluster/mpi_probe
# A user has none of these, and the probe of MPICH is not built with the rest.
unset OMPI_MCA_rmaps_base_oversubscribe OMPI_MCA_hwloc_base_binding_policy PRTE_MCA_hwloc_default_binding_policy
if command -v mpicc.mpich >/dev/null && command -v mpiexec.hydra >/dev/null; then
    mpicc.mpich -o "$WORK/probe_of_mpich" "$CLUSTER/../support/mpi_probe.c"
else
    echo "SKIP: tasks of MPICH: it is not installed"
fi
ANSWERS=$WORK/answers

# mpi_task NAME COMMAND: a task that notes the lines of COMMAND, and its host.
mpi_task() { echo "{ $2; hostname; } >$ANSWERS/$1 2>&1"; }

declare -A START=([open_mpi]="mpirun -n 2 $PROBE")
[ ! -e "$WORK/probe_of_mpich" ] || START[mpich]="mpiexec.hydra -n 2 $WORK/probe_of_mpich"

# mpi_tasks: the list. Its last tasks are killed when all their ranks run.
mpi_tasks() {
    local mpi
    echo "#WQ cores=2"
    for mpi in "${!START[@]}"; do mpi_task "$mpi" "${START[$mpi]} 0"; done
    # Some Slurms remark on the binding that mpirun asked its own step for.
    mpi_task step "srun -N1 -n2 -w \$(hostname) --mpi=pmix $PROBE 0 2>/dev/null"
    mpi_task settings "echo \$OMPI_MCA_btl \$UCX_LOG_LEVEL \$SLURM_NODELIST \$SLURM_PROCID"
    echo "#WQ batch-environment=keep"
    mpi_task kept "echo \$SLURM_JOB_NODELIST \$OMPI_MCA_ras"
    echo "#WQ batch-environment="
    for mpi in "${!START[@]}"; do
        echo "cd $ANSWERS/held.$mpi; ${START[$mpi]} hold . & until [ -e rank.0 ] && [ -e rank.1 ]; do sleep 0.1; done; kill -KILL \$\$"
    done
}

ranks_on_their_host() {
    local host
    host=$(tail -n 1 "$ANSWERS/$1")
    expect "ranks of $1 ($way)" "$(sort "$ANSWERS/$1")" "$(printf '%s\nrank 0 of 2 on %s\nrank 1 of 2 on %s' "$host" "$host" "$host")"
}
rank_is_gone() { ! kill -0 "$(cat "$1")" 2>/dev/null; }

# Each way gets the words of work_queue_run.
by_srun() { on login srun --mpi=pmix -N2 -n2 -c2 "$@"; }
by_mpirun() { on login salloc -N2 --ntasks-per-node=1 -c2 mpirun --map-by ppr:1:node --bind-to none "$@"; }
on_one_node() { on login sbatch --wait -n1 -c2 -o "$WORK/job.out" --wrap "$*"; }
by_grow() { on login "$@" --manager-only --grow slurm:1 --grow-options '--cores 2 --memory 500 --cycle 1'; }
by_factory() {
    listening "$@"
    on login "$BUILD/bin/work_queue_factory" -T slurm -S "$WORK/of workers" --contact "$RUN_DIR/contact" -w 0 -W 1 --cores 2 \
        --memory 500 --cycle 1 --json >"$WORK/factory.out" 2>&1 &
    local factory=$! code=0
    wait "$run" || code=$?
    kill "$(processes login work_queue_factory)"
    wait "$factory"
    return "$code"
}
by_submission() {
    listening "$@"
    on login /run/source/scripts/slurm/slurm_submit_workers --scratch-dir "$WORK/of workers" \
        --worker-binary "$BUILD/bin/work_queue_worker" --contact "$RUN_DIR/contact" --cores 2 --memory 500 --single-shot
    wait "$run"
}
listening() {
    on login "$@" --listen --manager-only &
    run=$!
    eventually 60 test -s "$RUN_DIR/contact" || fail "the run does not listen"
}

# expect_mpi_tasks WAY: all tasks of the list, started in this way, did what they should.
expect_mpi_tasks() {
    way=$1
    mpi_tasks >"$WORK/list"
    fresh_run
    rm -rf "$ANSWERS"
    mkdir "$ANSWERS"
    local code=0 mpi rank
    for mpi in "${!START[@]}"; do mkdir "$ANSWERS/held.$mpi"; done
    OMPI_MCA_btl=self,vader,tcp UCX_LOG_LEVEL=fatal "$way" "$COMMAND" --run-dir "$RUN_DIR" --progress never "$WORK/list" \
        >"$WORK/out" 2>"$WORK/err" || code=$?
    expect "exit code ($way)" "$code" 1
    for mpi in "${!START[@]}" step; do ranks_on_their_host "$mpi"; done
    expect "settings ($way)" "$(head -n 1 "$ANSWERS/settings")" "self,vader,tcp fatal"
    grep -q '^node[^ ]*$' "$ANSWERS/kept" || fail "the kept variables ($way): $(cat "$ANSWERS/kept")"
    expect "failed tasks ($way)" "$(awk -F '\t' 'NR > 1 && ($7 != 0 || $8 != 0)' "$RUN_DIR/joblog.tsv" | wc -l)" ${#START[@]}
    for mpi in "${!START[@]}"; do
        for rank in "$ANSWERS/held.$mpi"/rank.[01]; do eventually 60 rank_is_gone "$rank" || fail "$rank outlives its task ($way)"; done
    done
}
