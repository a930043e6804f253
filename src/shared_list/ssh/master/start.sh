# shellcheck shell=sh disable=SC2034,SC2154  # variables of the other parts
# The first line of standard input is "MARK LINES MODE"; then comes the list's name, of so many lines. Each answer begins
# with the mark, so that what a login shell prints is none.

# `~` and `~user` at the beginning; nothing else in the name is the shell's.
expand() {
    # shellcheck disable=SC2088
    case $list in
    '~') list=$HOME ;;
    '~/'*) list=$HOME/${list#??} ;;
    '~'*)
        user=${list%%/*}
        user=${user#?}
        case $user in *[!A-Za-z0-9._-]* | -*) fail user || return ;; esac
        home=
        eval "home=~$user"
        [ "$home" != "~$user" ] || fail user || return
        list=$home${list#"~$user"} ;;
    esac
    case $list in
    /*) ;;
    *) list=$PWD/$list ;;
    esac
    left_links=40
    while [ -h "$list" ]; do
        [ "$((left_links -= 1))" -gt 0 ] || fail link || return
        text=$(readlink "$list" && echo .) || fail link || return
        text=${text%?.}
        case $text in
        /*) list=$text ;;
        *) list=${list%/*}/$text ;;
        esac
    done
}

start() {
    expand || return
    case $list in */) fail directory || return ;; esac
    [ ! -d "$list" ] || fail directory || return
    data=$list.runtask
    if [ "$mode" = read ]; then
        start_to_read
        return
    fi
    [ -d "${list%/*}/" ] || fail missing || return
    [ -e "$list" ] || true >>"$list" || fail folder || return
    [ -f "$list" ] || fail special || return
    { [ -r "$list" ] && [ -w "$list" ]; } || fail readonly || return
    [ -w "${list%/*}/" ] || fail folder || return
    # A second time, because a mkdir that was killed says nothing of permissions.
    mkdir -p "$data/alive" "$data/old" || mkdir -p "$data/alive" "$data/old" || fail folder || return
    { [ -w "$data/alive" ] && [ -w "$data/old" ] && [ -w "$data" ]; } || fail data || return
    command -v flock >/dev/null || fail flock || return
    true >>"$list.lock" || true <"$list.lock" || fail lock || return
    probe_tools
}

probe_reading() {
    has_stat=
    # shellcheck disable=SC2046
    set -- $(words "$list" 2>/dev/null)
    if [ $# -eq 7 ]; then has_stat=1; else words() { words_by_ls "$@"; }; fi
    has_dd=
    ! dd if=/dev/null of=/dev/null iflag=fullblock,skip_bytes,count_bytes count=0 2>/dev/null || has_dd=1
}

probe_tools() {
    probe_reading
    dd if=/dev/null conv=fsync 2>/dev/null >>"$list" || to_disk() { sync; }
    has_ef=
    # shellcheck disable=SC3013  # that is what is tested
    ! [ "$list.lock" -ef "$list.lock" ] 2>/dev/null || has_ef=1
    probe_wait
    probe_twin
    # Of helpers that were killed.
    find "$data" \( -name 'received.*' -o -name 'twin.*' -o -name '.now.*' \) -mtime +1 -exec rm -f {} +
}

read -r mark left mode
IFS= read -r list || exit 1
while [ "$((left -= 1))" -gt 0 ]; do
    IFS= read -r text || exit 1
    list=$list$newline$text
done
if start; then
    say ready
    serve
    [ -z "$twin" ] || rm -f "$twin"
else
    say bad "$why"
fi
