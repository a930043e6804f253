# shellcheck shell=bash
# The job scripts of share/examples/batch, each in a folder of its name in WORK, with its list. Source it after runs.sh.
export WORK_QUEUE_SCRIPTS=/run/source/scripts
PATH=$BUILD/bin:$PATH
SCRIPTS=/run/source/share/examples/batch

# in_folder SCRIPT [SED]: makes its folder, and enters it; the marks of its tasks are in DONE. The script is for larger
# nodes: SED replaces its sizes.
in_folder() {
    DONE=$WORK/$1/done
    mkdir -p "$DONE"
    sed "${2:-}" "$SCRIPTS/$1" >"$WORK/$1/$1"
    cd "$WORK/$1" || exit
}

# index_job VARIABLE: job.sh, which leaves a mark if its argument is its index, as in this variable (1: it has only the argument).
index_job() {
    echo "#!/bin/sh
[ \"\$1\" = \"\$$1\" ] && hostname >>\"$DONE/\$1\"" >job.sh
    chmod +x job.sh
}

# gpu_tasks: two that run at the same time and note their GPU.
gpu_tasks() {
    local i
    for i in 1 2; do
        echo "echo \$CUDA_VISIBLE_DEVICES >gpu.$i; hostname >began.$i; until [ -e began.$((3 - i)) ]; do sleep 0.1; done; echo x >>$DONE/$i"
    done
}

# mpi_task NUMBER: an MPI program of two ranks, which leaves a mark as the others do.
mpi_task() {
    echo "#WQ cores=2"
    echo "mpirun -n 2 $BUILD/tests/cluster/mpi_probe 0 >ranks && hostname >>$DONE/$1"
}
# Both ranks are on one node.
expect_mpi_task() { expect "ranks of the MPI program of $1" "$(sed 's/.* on //' "$WORK/$1/ranks" | uniq -c | awk '{ print $1 }')" 2; }

# ran SCRIPT COUNT RUN_DIR: all of its tasks ran, once.
ran() {
    DONE=$WORK/$1/done
    # shellcheck disable=SC2034  # for runs.sh
    RUN_DIR=$WORK/$1/$3
    expect_complete "$2"
}
hosts_of() { cat "$WORK/$1"/began.* | sort -u | tr '\n' ' '; }
gpus_of() { cat "$WORK/$1"/gpu.[12] | sort | tr '\n' ' '; }
