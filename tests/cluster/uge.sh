# shellcheck shell=bash
# A real Grid Engine on the hosts of hosts.sh: login (sge_qmaster) and one sge_execd per node. Source it after users.sh.
# This machine sees the programs that `prepare` unpacked in /usr; state and configuration are in UGE.
UGE=/run/uge
export SGE_ROOT=$UGE SGE_CELL=default SGE_QMASTER_PORT=6444 SGE_EXECD_PORT=6445 SGE_SINGLE_LINE=1

# make_uge NODE...: creates the hosts login and the nodes, with four slots each. WORK must exist.
make_uge() {
    needs_root "Grid Engine"
    local node missing
    lay_over_usr
    missing=$(ldd /usr/lib/gridengine/sge_{qmaster,execd} /usr/lib/gridengine/libspoolb.so | sed -n 's/[[:space:]]*\(.*\) => not found/\1/p' | sort -u)
    [ -z "$missing" ] || { echo "SKIP: Grid Engine's libraries are missing: ${missing//$'\n'/ }"; exit 77; }
    make_hosts login "$@"
    make_tester sgeadmin 59002
    make_cell
    uge_daemon login sge_qmaster
    eventually 60 on login qconf -sh >"$WORK/qconf.out" 2>&1 || uge_failed "sge_qmaster does not answer"
    configure_uge "$@" >"$WORK/qconf.out" 2>&1 || uge_failed "qconf refused the configuration"
    for node in "$@"; do uge_daemon "$node" sge_execd; done
    eventually 60 all_report $# || uge_failed "the nodes do not report"
}

lay_over_usr() {
    local files
    files=$("$CLUSTER/prepare" --folder uge)
    [ -d "$files" ] || { echo "SKIP: Grid Engine is not unpacked here; tests/cluster/prepare does that"; exit 77; }
    by_short_name "$files" uge
    mount -t overlay overlay -o "lowerdir=$UGE/usr:/usr" /usr || { echo "SKIP: overlayfs cannot be used here"; exit 77; }
    mount -t tmpfs tmpfs "$UGE" # the unpacked files are not for changes
}

# make_cell: the folder SGE_ROOT, with a new database. Jobs end up in the accounting file at once.
make_cell() {
    local folder
    for folder in bin lib utilbin; do
        mkdir "$UGE/$folder"
        ln -s /usr/lib/gridengine "$UGE/$folder/$(/usr/share/gridengine/util/arch)"
    done
    ln -s /usr/share/gridengine/util "$UGE/util"
    mkdir -p "$UGE/default/common" "$UGE/spooldb" "$UGE/qmaster/job_scripts" "$UGE/execd"
    sed "s|/var/spool/gridengine|$UGE|" /usr/share/gridengine/default-bootstrap >"$UGE/default/common/bootstrap"
    echo login >"$UGE/default/common/act_qmaster"
    sed -e "s|^execd_spool_dir .*|execd_spool_dir $UGE/execd|" -e 's|^load_report_time .*|load_report_time 00:00:01|' \
        -e 's|^\(mailer\) .*|\1 /bin/true|' -e 's|^\(administrator_mail\) .*|\1 none|' \
        -e 's|^\(reporting_params.*\)|\1 accounting_flush_time=00:00:00|' \
        /usr/share/gridengine/default-configuration >"$UGE/configuration"
    chown -R sgeadmin: "$UGE"
    make_database >"$WORK/database.out" 2>&1 || fail "no database of Grid Engine: $(tail -n 5 "$WORK/database.out")"
}

make_database() {
    local tools=/usr/lib/gridengine resources=/usr/share/gridengine/util/resources
    as_admin $tools/spoolinit berkeleydb libspoolb "$UGE/spooldb" init &&
        as_admin $tools/spooldefaults configuration "$UGE/configuration" &&
        as_admin $tools/spooldefaults complexes $resources/centry &&
        as_admin $tools/spooldefaults usersets $resources/usersets &&
        as_admin $tools/spooldefaults managers sgeadmin
}
as_admin() { on login setpriv --reuid=sgeadmin --regid=sgeadmin --clear-groups -- "$@"; }

# uge_daemon HOST NAME: starts it, without our environment, which jobs would inherit. It goes to the background itself.
uge_daemon() {
    local settings=(SGE_ROOT="$SGE_ROOT" SGE_CELL="$SGE_CELL" SGE_QMASTER_PORT="$SGE_QMASTER_PORT" SGE_EXECD_PORT="$SGE_EXECD_PORT")
    (cd / && on "$1" env -i PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 "${settings[@]}" "/usr/sbin/$2") ||
        uge_failed "$2 does not start on $1"
}

# configure_uge NODE...: one queue; the parallel environments smp, threads, and mpi over several hosts; two GPUs per node,
# which are numbers only; jobs that start within a second.
configure_uge() {
    local node name file=$WORK/qconf
    on login qconf -ssconf | sed -e 's/^\(schedule_interval\) .*/\1 0:0:1/' -e 's/^\(flush_[a-z]*_sec\) .*/\1 1/' \
        -e 's/^\(job_load_adjustments\) .*/\1 NONE/' -e 's/^\(schedd_job_info\) .*/\1 true/' >"$file" && on login qconf -Msconf "$file" || return
    on login qconf -as login || return
    # When a job ends, sge_execd kills every process that has the job's group, and all hosts share the processes here:
    # each host has its own groups.
    local group=65000
    mkdir "$WORK/nodes"
    for node in "$@"; do
        on login qconf -ah "$node" || return
        echo "gid_range $group-$((group + 99))" >"$WORK/nodes/$node"
        on login qconf -Aconf "$WORK/nodes/$node" || return
        group=$((group + 100))
    done
    echo "group_name @nodes
hostlist $*" >"$file"
    on login qconf -Ahgrp "$file" || return
    for name in smp threads; do
        sed "s/^pe_name .*/pe_name $name/" /usr/share/gridengine/util/resources/pe/smp >"$file" && on login qconf -Ap "$file" || return
    done
    # One record of accounting per job, not also one per host.
    sed 's/^accounting_summary .*/accounting_summary TRUE/' /usr/share/gridengine/util/resources/pe/mpi >"$file" && on login qconf -Ap "$file" || return
    { on login qconf -sc && echo "gpu gpu INT <= YES JOB 0 0"; } >"$file" && on login qconf -Mc "$file" || return
    for node in "$@"; do on login qconf -aattr exechost complex_values gpu=2 "$node" && on login qconf -as "$node" || return; done
    on login qconf -sq | sed -e 's/^\(qname\) .*/\1 all.q/' -e 's/^\(hostlist\) .*/\1 @nodes/' -e 's/^\(load_thresholds\) .*/\1 NONE/' \
        -e 's/^\(pe_list\) .*/\1 smp threads mpi/' -e 's/^\(slots\) .*/\1 4/' -e 's/^\(shell\) .*/\1 \/bin\/sh/' -e "s|^\(tmpdir\) .*|\1 $TMPDIR|" >"$file" &&
        on login qconf -Aq "$file"
}

# Whether this many nodes have sent a load, and no queue has an alarm.
all_report() {
    on login qstat -f >"$WORK/qstat.out" 2>&1 && [ "$(grep -c '^all.q@' "$WORK/qstat.out")" -eq "$1" ] &&
        ! grep -qE -e ' -NA- ' -e ' [a-zA-Z]*u[a-zA-Z]* *$' "$WORK/qstat.out"
}

uge_failed() {
    tail -n 5 "$WORK"/qconf.out "$UGE"/qmaster/messages "$UGE"/execd/*/messages || :
    fail "$@"
}
