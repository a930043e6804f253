# shellcheck shell=bash
# A real HTCondor on the host cm of hosts.sh, with eight cores and two GPUs, which are names only, in one partitionable slot. Its programs are in TRIXIE, the
# root of a Debian 13 that `prepare` unpacked; what they change there is kept in memory. Source it after users.sh.
TRIXIE=/run/trixie

# make_condor: creates the host. WORK must exist.
make_condor() {
    needs_root HTCondor
    mount_trixie
    make_hosts cm
    make_tester
    add_users "$TRIXIE" condor 100
    configure_condor
    write_condor_commands
    on_cm condor_version >"$WORK/condor.out" 2>&1 || {
        echo "SKIP: ordinary users cannot make namespaces here: $(tail -n 1 "$WORK/condor.out")"
        exit 77
    }
    (cd / && on cm env -i PATH="$PATH" LANG=C.UTF-8 chroot "$TRIXIE" condor_master -f) </dev/null >"$WORK/master.out" 2>&1 &
    eventually 60 condor_answers || {
        tail -n 5 "$WORK/master.out" "$WORK/condor.out" "$TRIXIE"/var/log/condor/* || :
        fail "HTCondor does not answer"
    }
}

condor_answers() {
    on cm chroot "$TRIXIE" condor_status -af Name >"$WORK/condor.out" 2>&1 && [ -s "$WORK/condor.out" ] &&
        on_condor condor_q >"$WORK/condor.out" 2>&1
}

# on_condor COMMAND...: runs a command of TRIXIE on cm, as tester, in WORK.
# on_cm COMMAND...: runs a command of this machine, which finds HTCondor's commands in PATH.
on_condor() {
    on cm chroot --userspec="$TESTER:$TESTER" "$TRIXIE" env -i -C "$WORK" HOME="$WORK/home" USER=tester LOGNAME=tester \
        PATH=/usr/local/bin:/usr/bin:/bin "$@"
}
on_cm() { on_as_tester cm env PATH="$WORK/bin:$PATH" "$@"; }

# mount_trixie: both systems see the folders of the test, and one /tmp, because HTCondor identifies users by files there.
mount_trixie() {
    local files folder
    files=$("$CLUSTER/prepare" --folder condor)
    [ -d "$files" ] || { echo "SKIP: HTCondor is not unpacked here; tests/cluster/prepare does that"; exit 77; }
    by_short_name "$files" trixie
    mkdir -p /run/change/files /run/change/work
    mount -t overlay overlay -o "lowerdir=$TRIXIE,upperdir=/run/change/files,workdir=/run/change/work" "$TRIXIE" ||
        { echo "SKIP: overlayfs cannot be used here"; exit 77; }
    mount -t proc proc "$TRIXIE/proc"
    # HTCondor must not change the real machine's settings.
    mount --bind "$TRIXIE/proc/sys" "$TRIXIE/proc/sys"
    mount -o remount,bind,ro "$TRIXIE/proc/sys"
    mount -t sysfs -o ro sysfs "$TRIXIE/sys"
    mount --rbind /dev "$TRIXIE/dev"
    mount --bind /run/tmp /tmp
    mount --bind /run/tmp "$TRIXIE/tmp"
    for folder in build source tmp; do
        mkdir "$TRIXIE/run/$folder"
        mount --rbind "/run/$folder" "$TRIXIE/run/$folder"
    done
}

# configure_condor: one host has all roles; a job starts about a second after it is submitted.
configure_condor() {
    local folders=(/var/spool/condor /var/lib/condor/execute /var/log/condor /run/lock/condor /run/condor)
    (cd "$TRIXIE" && mkdir -p "${folders[@]/#/.}" && chown 100:100 "${folders[@]/#/.}")
    rm -f "$TRIXIE"/etc/condor/config.d/*
    cp "$WORK/hosts" "$TRIXIE/etc/hosts"
    cat >"$TRIXIE/etc/condor/config.d/test" <<'CONF'
use ROLE: CentralManager
use ROLE: Submit
use ROLE: Execute
CONDOR_HOST = cm
NETWORK_INTERFACE = 198.18.0.1
BIND_ALL_INTERFACES = False
ENABLE_IPV6 = False
UID_DOMAIN = cm
FILESYSTEM_DOMAIN = cm
CONDOR_ADMIN =
SEC_DEFAULT_AUTHENTICATION = REQUIRED
SEC_DEFAULT_AUTHENTICATION_METHODS = FS
SEC_DEFAULT_ENCRYPTION = OPTIONAL
SEC_DEFAULT_INTEGRITY = OPTIONAL
ALLOW_READ = *
ALLOW_WRITE = *
ALLOW_DAEMON = *
ALLOW_NEGOTIATOR = *
ALLOW_ADMINISTRATOR = root@$(UID_DOMAIN) condor@$(UID_DOMAIN)
NUM_CPUS = 8
MEMORY = 4096
DISK = 8000000
MACHINE_RESOURCE_GPUs = GPU-0, GPU-1
COUNT_HYPERTHREAD_CPUS = True
START = True
SUSPEND = False
PREEMPT = False
KILL = False
WANT_SUSPEND = False
WANT_VACATE = False
RUNBENCHMARKS = 0
ENABLE_KERNEL_TUNING = False
NEGOTIATOR_CYCLE_DELAY = 0
NEGOTIATOR_MIN_INTERVAL = 0
SCHEDD_MIN_INTERVAL = 0
NEGOTIATOR_INTERVAL = 1
SCHEDD_INTERVAL = 1
UPDATE_INTERVAL = 5
PERIODIC_EXPR_INTERVAL = 1
CLAIM_WORKLIFE = 0
CONF
}

# write_condor_commands: HTCondor's commands for programs of this machine, in WORK/bin.
write_condor_commands() {
    local name
    mkdir "$WORK/bin"
    for name in submit q rm status wait history release hold transfer_data config_val version; do
        cat >"$WORK/bin/condor_$name" <<COMMAND
#!/bin/sh
exec unshare --map-current-user --root=$TRIXIE --wd="\$PWD" /usr/bin/condor_$name "\$@"
COMMAND
    done
    chmod 755 "$WORK/bin"/*
}

# install_run: the command work_queue_run for jobs, with the libraries that Debian 13 lacks there.
install_run() {
    local library
    mkdir -p "$WORK/lib" "$TRIXIE/usr/local/bin"
    for library in $(ldd "$BUILD"/bin/work_queue_{run,factory} | awk '$2 == "=>" { print $3 }' | sort -u); do
        [ -e "$TRIXIE$library" ] || cp "$library" "$WORK/lib"
    done
    cat >"$TRIXIE/usr/local/bin/work_queue_run" <<COMMAND
#!/bin/sh
export LD_LIBRARY_PATH="$WORK/lib" WORK_QUEUE_SCRIPTS=/run/source/scripts
exec "$BUILD/bin/work_queue_run" "\$@"
COMMAND
    chmod 755 "$TRIXIE/usr/local/bin/work_queue_run"
}
