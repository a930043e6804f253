# shellcheck shell=bash
# A real Slurm on the hosts of hosts.sh: login (slurmctld) and one slurmd per node, with a separate munged. Source it.
export SLURM_CONF=
# With its default, mixed, ranks under load left MPI_Init while rank 0 was still in its first fence, and their message
# met a TCP transport without a receiver: SIGSEGV at address 0 in 4 of about 75 steps on three nodes, one of them of a
# bare program of MPI_Init and MPI_Comm_dup; with ring in none of 66, with tree in none of 90.
export SLURM_PMIX_FENCE=ring

# make_slurm NODE...: creates the hosts login and the nodes, with four cores each for Slurm. WORK must exist. With NODE_GPUS=N,
# each node also has so many GPUs, which are links to /dev/null. TASK_PROLOG is a program for Slurm's option of this name.
make_slurm() {
    local daemon
    if [ "$(cat /proc/self/setgroups)" = deny ]; then
        echo "SKIP: Slurm's daemons need to be started by root"
        exit 77
    fi
    for daemon in slurmctld slurmd munged; do
        command -v "$daemon" >/dev/null || PATH=$PATH:/usr/sbin
        command -v "$daemon" >/dev/null || { echo "SKIP: $daemon is not installed"; exit 77; }
    done
    make_hosts login "$@"
    SLURM=$WORK/slurm
    mkdir -p "$SLURM/state" /run/slurm
    start_munge
    export SLURM_CONF=$SLURM/slurm.conf
    write_configuration "$@"
    on login slurmctld -D -c >"$SLURM/slurmctld.out" 2>&1 &
    local node
    for node in "$@"; do
        mkdir -p "$SLURM/$node/tmp" "$SLURM/$node/spool"
        on "$node" slurmd -D -N "$node" >"$SLURM/$node/slurmd.out" 2>&1 &
    done
    eventually 60 all_idle $# || {
        tail -n 5 "$SLURM"/*.out "$SLURM"/*/slurmd.out
        fail "the nodes did not become idle"
    }
}

all_idle() { [ "$(on login sinfo -h -N -t idle -o %N 2>/dev/null | wc -l)" -eq "$1" ]; }

start_munge() {
    # /run belongs to this machine only (see `machine`), and is short enough for a socket's path.
    install -d -m 755 /run/munge
    head -c 1024 /dev/urandom >"$SLURM/munge.key"
    chmod 600 "$SLURM/munge.key"
    munged --force --foreground --key-file="$SLURM/munge.key" --socket=/run/munge/socket \
        --pid-file=/run/munge/pid --log-file=/run/munge/log --seed-file=/run/munge/seed \
        >"$SLURM/munged.out" 2>&1 &
    eventually 60 munge -n -S /run/munge/socket -o /dev/null 2>/dev/null || fail "munged did not start: $(cat "$SLURM/munged.out")"
}

# Each node has its own /tmp for Slurm (TmpFS): its PMIx plugin creates a folder there whose name has only user and
# job, and a second node with the same folder fails with "launch failed: Unspecified error".
write_configuration() {
    cat >"$SLURM_CONF" <<CONF
ClusterName=cluster
SlurmctldHost=login(198.18.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=/run/munge/socket
CredType=cred/munge
StateSaveLocation=$SLURM/state
SlurmctldPidFile=/run/slurm/slurmctld.pid
SlurmdPidFile=/run/slurm/%n.pid
SlurmdSpoolDir=$SLURM/%n/spool
SlurmctldLogFile=$SLURM/slurmctld.log
SlurmdLogFile=$SLURM/%n/slurmd.log
TmpFS=$SLURM/%n/tmp
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=pmix
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=1,sched_interval=1
KillWait=5
MessageTimeout=20
PartitionName=all Nodes=ALL Default=YES State=UP
CONF
    local node number=1
    for node in "$@"; do
        number=$((number + 1))
        echo "NodeName=$node NodeAddr=198.18.0.$number CPUs=4 RealMemory=4000${NODE_GPUS:+ Gres=gpu:$NODE_GPUS}" >>"$SLURM_CONF"
    done
    [ -z "${TASK_PROLOG:-}" ] || echo "TaskProlog=$TASK_PROLOG" >>"$SLURM_CONF"
    [ -n "${NODE_GPUS:-}" ] || return 0
    echo GresTypes=gpu >>"$SLURM_CONF"
    for ((number = 0; number < NODE_GPUS; ++number)); do
        ln -s /dev/null "$SLURM/gpu$number"
        echo "Name=gpu File=$SLURM/gpu$number" >>"$SLURM/gres.conf"
    done
}

# make_qsub: puts the qsub of PBS and Torque that Slurm has into PATH.
make_qsub() {
    local files
    files=$("$CLUSTER/prepare" --folder qsub)
    [ -d "$files" ] || { echo "SKIP: slurm-wlm-torque is not unpacked here; tests/cluster/prepare does that"; exit 77; }
    # This qsub calls the sbatch beside it.
    mkdir "$WORK/bin"
    ln -s "$files/usr/bin/qsub" "$(command -v sbatch)" "$WORK/bin"
    PATH=$WORK/bin:$PATH
    PERL5LIB=$(find "$files/usr" -name Slurm.pm -printf %h -quit)
    export PERL5LIB
}
