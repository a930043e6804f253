# shellcheck shell=bash
# Hosts on one machine: network namespaces joined by a bridge without outside connection, with addresses of
# 198.18.0.0/15, which is reserved for network tests. Sourced by tests that run in `machine`. BUILD is the root of the
# build folder.

# by_short_name FOLDER NAME: mounts the folder also as /run/NAME, which only this machine sees: the folder's path may
# contain blanks, which end a word in Open MPI's list of agents and in Slurm's configuration.
by_short_name() {
    mkdir "/run/$2"
    mount --rbind "$1" "/run/$2"
}
by_short_name "$(dirname -- "${BASH_SOURCE[0]}")/../.." source
by_short_name "$BUILD" build
CLUSTER=/run/source/tests/cluster
BUILD=/run/build
# shellcheck source=tests/support/eventually.sh
. "$CLUSTER/../support/eventually.sh"
NETWORK=198.18.0.0/24

export TMPDIR=/run/tmp
unset OMPI_MCA_btl_vader_backing_directory # /dev/shm belongs to this machine only
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_plm_rsh_agent=$CLUSTER/rsh_agent
export OMPI_MCA_btl_tcp_if_include=$NETWORK OMPI_MCA_oob_tcp_if_include=$NETWORK
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_smsc=^cma OMPI_MCA_reachable=weighted
# The settings that Open MPI 5 leaves to PRRTE.
export PRTE_MCA_plm_ssh_agent=$CLUSTER/rsh_agent PRTE_MCA_prte_if_include=$NETWORK
export PRTE_MCA_hwloc_default_binding_policy=none

# make_work NAME: creates an empty folder WORK for this test that all hosts see; a later run of the test removes it.
make_work() {
    WORK=$BUILD/tests/cluster/work/$1
    rm -rf "$WORK"
    mkdir -p "$WORK"
}

# make_hosts HOST...: creates hosts that reach each other by name. The hub's end of the link of HOST is link.HOST.
make_hosts() {
    local host number=0
    ip netns add hub
    ip -n hub link add bridge type bridge
    ip -n hub link set bridge up
    echo "127.0.0.1 localhost" >"$WORK/hosts"
    for host in "$@"; do
        number=$((number + 1))
        ip netns add "$host"
        ip -n hub link add "link.$host" type veth peer name eth0 netns "$host"
        ip -n hub link set "link.$host" master bridge
        ip -n hub link set "link.$host" up
        ip -n "$host" addr add "198.18.0.$number/24" dev eth0
        ip -n "$host" link set eth0 up
        ip -n "$host" link set lo up
        echo "198.18.0.$number $host" >>"$WORK/hosts"
    done
    mount --bind "$WORK/hosts" /etc/hosts
}

on() { "$CLUSTER/on" "$@"; }

# Whether Open MPI has osc/pt2pt, as 4.1 has it: there a window between hosts must be chosen, and a sleeping rank serves
# it. Open MPI 5 gives a window by default.
has_pt2pt() { ompi_info --parsable | grep -q '^mca:osc:pt2pt:'; }

# cut_link HOST, mend_link HOST: disconnects a host, and reconnects it.
cut_link() { ip -n hub link set "link.$1" down; }
mend_link() { ip -n hub link set "link.$1" up; }

# reaches HOST OTHER: OTHER's kernel answers (with a refusal: nobody listens there) within a second.
reaches() { on "$1" timeout 1 bash -c "exec 3<>/dev/tcp/$2/9" 2>&1 | grep -q refused; }

# processes HOST NAME: the ids of the processes with that name (its first 15 characters) on a host.
processes() {
    local id
    for id in $(ip netns pids "$1"); do
        [ "$(cat "/proc/$id/comm" 2>/dev/null)" != "${2:0:15}" ] || echo "$id"
    done
}

# daemons HOST: the ids of mpirun's daemon there: orted, or with Open MPI 5 prted and its child.
daemons() { processes "$1" orted && processes "$1" prted; }

# expect WHAT GOT WANTED: fails the test if they differ.
expect() {
    [ "$2" = "$3" ] || fail "$1: got '$2', wanted '$3'"
}
fail() {
    echo "FAILED: $*"
    exit 1
}
