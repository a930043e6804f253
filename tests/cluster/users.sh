# shellcheck shell=bash
# An ordinary user on the hosts of hosts.sh, who submits jobs. Source it after hosts.sh.
TESTER=59001

# needs_root WHAT: skips the test in namespaces of an ordinary user, because daemons there cannot run jobs as others.
needs_root() {
    [ "$(cat /proc/self/setgroups)" != deny ] || { echo "SKIP: $1 needs to be started by root"; exit 77; }
}

# add_users ROOT [NAME ID]: adds tester, and another user, to the users of the system below this root.
add_users() {
    local root=$1 name id
    shift
    set -- tester "$TESTER" "$@"
    while [ $# -gt 0 ]; do
        name=$1 id=$2
        shift 2
        sed -i "/^$name:/d" "$root/etc/passwd" "$root/etc/group"
        echo "$name:x:$id:$id::$WORK/home:/bin/sh" >>"$root/etc/passwd"
        echo "$name:x:$id:" >>"$root/etc/group"
    done
}

# make_tester [NAME ID]: adds tester, whose home is in WORK, and another user, to the users of this machine.
make_tester() {
    local file
    mkdir -p "$WORK/etc" "$WORK/home"
    for file in passwd group; do
        cp "/etc/$file" "$WORK/etc/$file"
        chmod 644 "$WORK/etc/$file"
    done
    add_users "$WORK" "$@"
    for file in passwd group; do mount --bind "$WORK/etc/$file" "/etc/$file"; done
    chown "$TESTER:$TESTER" "$WORK" "$WORK/home"
}

# on_as_tester HOST COMMAND...: runs it there as tester, at home.
on_as_tester() {
    local host=$1
    shift
    on "$host" env -C "$WORK/home" HOME="$WORK/home" USER=tester LOGNAME=tester \
        setpriv --reuid=$TESTER --regid=$TESTER --clear-groups -- "$@"
}
