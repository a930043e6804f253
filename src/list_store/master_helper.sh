#!/bin/sh
# What a worker runs at the master by ssh, and keeps for all its requests (ssh_store.cpp). Requests come as lines
# on standard input, answers go to standard output. It knows no grammar of lists, and does with sh, flock and
# POSIX utilities what local_exchange.cpp does by system calls; both share lists.
#
# Each command that is no builtin costs about 1 ms, so requests that only append have three of them. `read` takes
# not a byte beyond a line from standard input, as a command with a buffer would. The lock is never held while
# something is received or sent: a connection that hangs would hold it for hours.
LC_ALL=C
export LC_ALL
newline='
'
mark=
why=

say() { printf '%s %s\n' "$mark" "$*"; }

# Remembers why a request cannot be done: a word that the worker knows, and what a command said.
fail() {
    why="$1 ${2%%"$newline"*}"
    return 1
}

# --- Files

# Seven words for each file: inode, links, bytes, seconds of its last change, -, -.FRACTION, -
words() { stat -c '%i %h %s %Y %y' "$@"; }

# Without GNU's or BusyBox's stat a list is known by its checksum.
words_by_ls() {
    for file; do
        IFS=' ' read -r inode mode links owner group bytes rest <<END
$(ls -lnid "$file")
END
        sum=0
        case $file in
        "$list" | "$data/new") IFS=' ' read -r sum rest <<END
$(cksum <"$file")
END
            ;;
        esac
        echo "$inode $links $bytes c$sum - -.0 -"
    done
}

to_disk() { dd if=/dev/null conv=fsync 2>/dev/null >>"$1"; }

folder_to_disk() { sync "$1" 2>/dev/null || sync; }

# bytes FROM COUNT: of standard input
bytes() {
    if [ "$has_dd" ]; then
        dd bs=65536 iflag=skip_bytes,count_bytes,fullblock skip="$1" count="$2" 2>/dev/null
    else
        tail -c "+$(($1 + 1))" | head -c "$2"
    fi
}

# Exactly so many, also if somebody cuts the file meanwhile.
padded_bytes() { { bytes "$1" "$2"; head -c "$2" /dev/zero; } | head -c "$2"; }

# Mode (with the sign of an ACL), owner and group.
attributes() {
    IFS=' ' read -r mode links owner group rest <<END
$(ls -lnd "$1")
END
    printf '%s\n' "$mode $owner $group"
}

# --- The lock

lock() {
    command exec 9>>"$list.lock" || command exec 9<"$list.lock" || fail lock || return
    text=$(flock -w 2 9 2>&1) && return
    say waiting
    text=$(flock 9 2>&1) || fail lock "$text"
}

unlock() { exec 9>&-; }

# --- The log. Its name, its size, and which size a failed request has to go back to.

# new_log [LINE]: begins one, with the request's records if it has any, and LINE
new_log() {
    [ -d "$data/old" ] || mkdir -p "$data/old" "$data/alive"
    {
        { printf 'LOG %s\n' "$new_name" && records && printf '%s' "$1"; } >"$data/edits.new" &&
            to_disk "$data/edits.new" && mv -f "$data/edits.new" "$data/edits"
    } || fail write "$(probe)" || return
    folder_to_disk "$data"
    log=$new_name
    log_bytes=$((5 + ${#log} + record_bytes + ${#1}))
}

records() {
    if [ "$record_lines" -gt 0 ]; then
        printf '%s\n' "$lines"
    elif [ "$record_bytes" -gt 0 ]; then
        cat <&5
    fi
}

# log_line [LINE]: the request's records and LINE are the log's next lines, or all that a new log has
log_line() {
    if [ "$wants_new_log" = 1 ]; then
        new_log "$1"
        return
    fi
    [ "$((record_bytes + ${#1}))" -gt 0 ] || return 0
    if { records && printf '%s' "$1"; } >>"$data/edits"; then
        log_bytes=$((log_bytes + record_bytes + ${#1}))
        return
    fi
    cut "$data/edits" "$log_bytes"
    fail write "$(probe)"
}

cut() { dd if=/dev/null of="$1" bs=1 seek="$2" 2>/dev/null; }

# Why nothing can be written: shells do not say it.
probe() {
    { head -c 100000 /dev/zero | cat >"$data/probe"; } 2>&1
    rm -f "$data/probe"
}

# --- Looking

# The files as they are: $id, $list_bytes, $links (but ours), $log, $log_bytes, $grown (old files), $last_old
look() {
    [ -f "$list" ] || true >>"$list"
    log=
    [ ! -f "$data/edits" ] || IFS= read -r log <"$data/edits" || log=
    case $log in
    'LOG '?*) log=${log#LOG } ;;
    *) record_lines=0 record_bytes=0 wants_new_log=0
        new_log || return ;;
    esac
    [ ! -f "$data/in_place" ] || finish_overwriting || return
    set -- "$data"/old/*.*
    [ -e "$1" ] || set --
    names=
    for file; do names="$names ${file##*/}"; done
    # shellcheck disable=SC2046  # words
    set -- $(words "$list" "$data/edits" "$@")
    [ $# -ge 14 ] || fail look || return
    id=$1_$3_$4.${6#*.}
    inode=$1
    links=$2
    list_bytes=$3
    log_bytes=${10}
    shift 14
    look_at_old "$@"
}

look_at_old() {
    grown=
    stale=
    last_old=0
    old_count=0
    old_bytes=0
    for name in $names; do
        [ $# -ge 7 ] || return 0
        old=${name#*.}
        if [ "$1" = "$inode" ]; then
            stale="$stale $name"
            links=$((links - 1))
        else
            [ "$3" -le "$old" ] || grown="$grown $name-$(($3 - old > 16777216 ? old + 16777216 : $3))"
            [ "${name%.*}" -le "$last_old" ] || last_old=${name%.*}
            old_count=$((old_count + 1))
            old_bytes=$((old_bytes + $3))
        fi
        shift 7
    done
}

# --- Changing

# Makes the next list of the list ($list in the environment) and a plan: for each change a line
# "OFFSET LENGTH LINES", and the lines that replace these bytes.
# shellcheck disable=SC2016  # awk's variables
splice='
function refill() {
    if ((getline line < list) <= 0) { bad = 1; exit 1 }
    seen += length(line) + 1
    rest = seen > size ? line : line "\n"
}
function go(end, shown,   n) {
    while (at < end) {
        if (rest == "") refill()
        n = length(rest)
        if (at + n > end) n = end - at
        if (shown) print substr(rest, 1, n)
        rest = substr(rest, n + 1)
        at += n
    }
}
BEGIN { ORS = ""; list = ENVIRON["list"]; size = ENVIRON["size"] + 0; at = 0; rest = "" }
{
    from = $1; to = $1 + $2; lines = $3
    go(from, 1)
    go(to, 0)
    for (i = 0; i < lines; i++) { getline text; print (i ? "\n" : "") text }
}
END { if (bad) exit 1; go(size, 1) }
'

# What cannot be kept is seen later, but for an ACL where ls does not show that there is one.
copy_attributes() {
    cp --attributes-only --preserve=all "$list" "$new" 2>/dev/null && return
    cp -p "$list" "$new" || return
    if command -v setfacl >/dev/null; then getfacl "$list" 2>/dev/null | setfacl --set-file=- "$new" 2>/dev/null; fi
    return 0
}

# Writes the next list aside.
write_new() {
    new=$data/new
    [ ! -e "$new" ] || rm -f "$new"
    copy_attributes || { rm -f "$new"; fail write "$(probe)"; } || return
    text=$({ list=$list size=$list_bytes awk "$splice" <&4 >"$new" && to_disk "$new"; } 2>&1)
    made=$?
    # shellcheck disable=SC2046
    set -- $(words "$new" "$list")
    if [ "$8_${10}_${11}.${13#*.}" != "$id" ]; then
        # Somebody edited the list just now.
        changed=0
        rm -f "$new"
        return
    fi
    [ "$made" = 0 ] || { rm -f "$new"; fail write "$text"; } || return
    [ "$3" = "$new_bytes" ] || fail splice "$3 bytes" || return
    new_id=$1_$3_$4.${6#*.}
    file_line="FILE $1 $3 $4.${6#*.}$newline"
}

rewrite() {
    write_new || return
    [ "$changed" = 1 ] || return 0
    if [ "$links" -gt 1 ] || [ "$(attributes "$new")" != "$(attributes "$list")" ]; then
        log_line && { to_disk "$data/edits" || fail sync; } && overwrite
        return
    fi
    log_line "$file_line" || return
    to_disk "$data/edits" || fail sync || return
    keep_old
    # Not in a folder such as /tmp, where only the owner may rename a file.
    if mv -f "$new" "$list"; then
        folder_to_disk "${list%/*}/"
        id=$new_id
    else
        overwrite
    fi
}

# Who has the list open appends to this file from now on.
keep_old() {
    [ -d "$data/old" ] || mkdir -p "$data/old"
    for name in $stale; do rm -f "$data/old/$name"; done
    ln "$list" "$data/old/$((last_old + 1)).$list_bytes" 2>/dev/null || return
    [ "$old_count" -ge 32 ] || [ "$((old_bytes + list_bytes))" -gt 67108864 ] || return
    remove_old
}

# The oldest, but none that has bytes that are not in the list.
remove_old() {
    # shellcheck disable=SC2046
    set -- $(for name in $names; do echo "$name"; done | sort -n)
    for name; do
        case "$grown " in *" $name-"*) continue ;; esac
        rm -f "$data/old/$name"
        old_count=$((old_count - 1))
        old_bytes=$((old_bytes - ${name#*.}))
        [ "$old_count" -ge 32 ] || [ "$((old_bytes + list_bytes))" -gt 67108864 ] || return
    done
}

# The list's file has to stay: it has other names, or an owner that we cannot give to another file.
overwrite() {
    mv -f "$data/new" "$data/in_place" || fail write "$(probe)" || return
    folder_to_disk "$data"
    finish_overwriting
}

# Over the old bytes, and only then cut: a full disk or a crash leaves as much as possible.
finish_overwriting() {
    # shellcheck disable=SC2046
    set -- $(words "$data/in_place")
    text=$({ cat "$data/in_place" >&3; } 2>&1 3<>"$list") || fail unfinished "$text" || return
    cut "$list" "$3"
    to_disk "$list" || fail unfinished || return
    # shellcheck disable=SC2046
    set -- $(words "$list")
    id=$1_$3_$4.${6#*.}
    file_line="FILE $1 $3 $4.${6#*.}$newline"
    # shellcheck disable=SC2046
    set -- $(words "$data/edits")
    { printf '%s' "$file_line" >>"$data/edits" && to_disk "$data/edits"; } || fail unfinished "$(probe)" || return
    log_bytes=$(($3 + ${#file_line}))
    rm -f "$data/in_place"
}

change() {
    changed=1
    unsynced=
    if [ "$plan_bytes" != - ]; then
        rewrite || return
        [ "$changed" = 1 ] || return 0
    else
        log_line || return
        unsynced=1
    fi
    # A copied part may be forgotten only when the log has it for good.
    [ -z "$copied" ] || to_disk "$data/edits" || fail sync || return
    for name in $copied; do
        mv "$data/old/${name%-*}" "$data/old/${name%%.*}.${name#*-}" || fail write || return
        grown=
    done
}

# --- Requests

# take BYTES FILE: that come on standard input
take() {
    if [ "$has_dd" ]; then
        text=$({ dd bs=65536 iflag=fullblock,count_bytes count="$1" >"$2"; } 2>&1) && return
    else
        text=$({ dd bs=1 count="$1" >"$2"; } 2>&1) && return
    fi
    # What was not taken would be read as requests.
    say bye write "${text%%"$newline"*}"
    exit 1
}

receive() {
    lines=
    separator=
    left=$record_lines
    while [ "$left" -gt 0 ]; do
        IFS= read -r text || exit 1
        lines=$lines$separator$text
        separator=$newline
        left=$((left - 1))
    done
    aside=$data/received.$$.$mark
    [ -d "$data" ] || mkdir -p "$data"
    if [ "$record_lines" -eq 0 ] && [ "$record_bytes" -gt 0 ]; then
        take "$record_bytes" "$aside"
        exec 5<"$aside"
        rm -f "$aside"
    fi
    if [ "$plan_bytes" != - ]; then
        take "$plan_bytes" "$aside"
        exec 4<"$aside"
        rm -f "$aside"
    fi
}

# send_file wants_change LOG LOG_BYTES FILE_ID new_name record_lines record_bytes plan_bytes new_bytes wants_new_log
# COPIED_OLD...
exchange() {
    receive
    why=
    changed=0
    unsynced=
    if lock && look; then
        sent=$log_bytes
        if [ "$known_log" = "$log" ] && [ "$known_bytes" -le "$log_bytes" ]; then whole=0 from=$known_bytes; else whole=1 from=0; fi
        if [ "$wants_change" = 1 ] && [ "$known_log $known_bytes $known_id" = "$log $log_bytes $id" ]; then
            change
            if [ "$changed" = 1 ]; then sent=0 from=0; else look; fi
        fi
        # Opened while they are these files.
        [ "$why" ] || command exec 8<"$data/edits" 7<"$list" || fail readonly
    fi
    unlock
    [ -z "$unsynced" ] || [ "$why" ] || to_disk "$data/edits" || fail sync
    if [ "$why" ]; then say bad "$why"; else answer; fi
    exec 4<&- 5<&- 7<&- 8<&-
}

answer() {
    file=-
    if [ "$send_file" = 1 ] || { [ "$send_file$changed" = 20 ] && [ "$known_id" != "$id" ]; }; then
        file=${id#*_}
        file=${file%%_*}
    fi
    say ok "$changed" "$log" "$log_bytes" "$id" "$whole" "$((sent - from))" "$file" "$grown"
    [ "$sent" -eq "$from" ] || bytes "$from" "$((sent - from))" <&8
    for name in $grown; do
        old=${name#*.}
        padded_bytes "${old%-*}" "$((${name#*-} - ${old%-*}))" <"$data/old/${name%-*}"
    done
    [ "$file" = - ] || send_list
}

# With its identity afterwards: somebody may have edited it meanwhile.
send_list() {
    padded_bytes 0 "$file" <&7
    # shellcheck disable=SC2046
    set -- $(words "$list")
    say "$1_$3_$4.${6#*.}"
}

beat() {
    [ -d "$data/alive" ] || mkdir -p "$data/alive"
    # Written over, never empty.
    if printf '%-20s\n' "$2" 1<>"$data/alive/$1"; then say ok; else say bad write "$(probe)"; fi
}

# The ages are by the clock that touches the files: that of the master, or of its file server.
signs() {
    found=
    if cd "$data/alive" && printf '\n' >".now.$$" && [ "$has_stat" ]; then
        found=$(stat -c '%n %Y %y' ".now.$$" [0-9]* 2>/dev/null)
    fi
    rm -f "$data/alive/.now.$$"
    # shellcheck disable=SC2086
    set -- $found
    text=
    while [ $# -ge 5 ]; do
        lease=0
        [ ! -f "$1" ] || IFS=' ' read -r lease rest <"$1"
        text="$text $1 $2.${4#*.} ${lease:-0}"
        shift 5
    done
    cd / || :
    say ok "$text"
}

hold() {
    why=
    if lock; then say held; else say bad "$why"; fi
    read -r text
    exit 0
}

serve() {
    while read -r verb words; do
        # shellcheck disable=SC2086
        set -- $words
        case $verb in
        exchange)
            send_file=$1 wants_change=$2 known_log=$3 known_bytes=$4 known_id=$5 new_name=$6 record_lines=$7
            record_bytes=$8 plan_bytes=$9
            shift 9
            new_bytes=$1 wants_new_log=$2
            shift 2
            copied=$*
            exchange ;;
        beat) beat "$1" "$2" ;;
        unsign) if rm -f "$data/alive/$1"; then say ok; else say bad write; fi ;;
        signs) signs ;;
        time) say ok "$(date '+%s %z')" ;;
        hold) hold ;;
        *) say bad request ;;
        esac
    done
}

# --- The start

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
    [ -d "${list%/*}/" ] || fail missing || return
    [ -e "$list" ] || true >>"$list" || fail folder || return
    [ -f "$list" ] || fail special || return
    { [ -r "$list" ] && [ -w "$list" ]; } || fail readonly || return
    [ -w "${list%/*}/" ] || fail folder || return
    mkdir -p "$data/alive" "$data/old" || fail folder || return
    { [ -w "$data/alive" ] && [ -w "$data/old" ] && [ -w "$data" ]; } || fail data || return
    command -v flock >/dev/null || fail flock || return
    true >>"$list.lock" || true <"$list.lock" || fail lock || return
    probe_tools
}

probe_tools() {
    has_stat=
    # shellcheck disable=SC2046
    set -- $(words "$list" 2>/dev/null)
    if [ $# -eq 7 ]; then has_stat=1; else words() { words_by_ls "$@"; }; fi
    has_dd=
    ! dd if=/dev/null of=/dev/null iflag=fullblock,skip_bytes,count_bytes count=0 2>/dev/null || has_dd=1
    dd if=/dev/null conv=fsync 2>/dev/null >>"$list" || to_disk() { sync; }
    # Of helpers that were killed.
    find "$data" \( -name 'received.*' -o -name '.now.*' \) -mtime +1 -exec rm -f {} +
}

# "MARK LINES", and the lines of the list's name.
read -r mark left
IFS= read -r list || exit 1
while [ "$((left -= 1))" -gt 0 ]; do
    IFS= read -r text || exit 1
    list=$list$newline$text
done
if start; then
    say ready
    serve
else
    say bad "$why"
fi
