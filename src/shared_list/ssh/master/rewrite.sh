# shellcheck shell=sh disable=SC2034,SC2154  # variables of the other parts
# The change that a request asks for.

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
    [ "$put_aside" = - ] || cp -p "$list" "$list.$put_aside" 2>/dev/null ||
        { rm -f "$new" && fail write "$(probe)"; } || return
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
    old_count=$((old_count + 1))
    old_bytes=$((old_bytes + list_bytes))
    ! has_old 32 67108864 || remove_old
}

# has_old FILES BYTES: more than these
has_old() { [ "$old_count" -gt "$1" ] || [ "$old_bytes" -gt "$2" ]; }

# The oldest, but none that has bytes that are not in the list, and none that was replaced less than 10 minutes ago
# unless they are too many; as in ../../store/new_list.cpp.
remove_old() {
    text=$newline$(cd "$data/old" && find . -cmin +10 2>/dev/null)$newline
    # shellcheck disable=SC2046
    set -- $(for name in $names; do echo "$name"; done | sort -n)
    gone=
    for name; do
        case "$grown " in *" $name-"*) continue ;; esac
        case $text in
        *"$newline./$name$newline"*) ;;
        *) has_old 512 268435456 || continue ;;
        esac
        gone="$gone $name"
        old_count=$((old_count - 1))
        old_bytes=$((old_bytes - ${name#*.}))
        has_old 32 67108864 || break
    done
    # shellcheck disable=SC2086
    [ -z "$gone" ] || (cd "$data/old" && rm -f $gone)
}

# The list's file has to stay: it has other names, or an owner that we cannot give to another file. The file's name says
# at which moment of the log: it grows once that is done, so that a file that comes back after a power failure is not
# copied over later lists. And how long the list is: what is beyond was appended since.
overwrite() {
    in_place=$data/in_place.$log.$log_bytes.$list_bytes
    mv -f "$data/new" "$in_place" || fail halfway "$(probe)" || return
    folder_to_disk "$data"
    finish_overwriting
}

# find_appended BYTES NEW_BYTES, of the list and the complete one: $from is where begins what somebody appended.
find_appended() {
    from=${in_place##*.}
    [ "$1" -gt "$from" ] && [ "$2" -gt "$from" ] || return 0
    end=$(($1 < $2 ? $1 : $2))
    text=$(bytes "$from" "$((end - from))" <"$list" && echo .)
    [ "$text" != "$(bytes "$from" "$((end - from))" <"$in_place" && echo .)" ] || from=$end
}

# Over the old bytes, and only then cut: a full disk or a crash leaves as much as possible.
finish_overwriting() {
    # shellcheck disable=SC2046
    set -- $(words "$in_place" "$list")
    [ $# -ge 14 ] || fail unfinished || return
    new_size=$3
    more=0
    find_appended "${10}" "$3"
    set -- "$in_place" "${10}"
    if [ "$2" -gt "$from" ]; then
        more=$(($2 - from))
        aside=$data/received.$$.$mark
        bytes "$from" "$more" <"$list" >"$aside" || fail unfinished "$(probe)" || return
        set -- "$in_place" "$aside"
    else
        set -- "$in_place"
    fi
    text=$({ cat "$@" >&3; } 2>&1 3<>"$list") || fail unfinished "$text" || return
    cut "$list" "$((new_size + more))" || fail unfinished || return
    to_disk "$list" || fail unfinished || return
    [ "$more" = 0 ] || rm -f "$aside"
    # From now on, what is beyond the new list was appended.
    [ "${in_place##*.}" = "$new_size" ] || mv -f "$in_place" "${in_place%.*}.$new_size" || fail unfinished || return
    in_place=${in_place%.*}.$new_size
    # shellcheck disable=SC2046
    set -- $(words "$list")
    # What was appended just now is no part of this list, so that it is seen.
    id=$1_${new_size}_$4.${6#*.}
    file_line="FILE $1 $new_size $4.${6#*.}$newline"
    # shellcheck disable=SC2046
    set -- $(words "$data/edits")
    { printf '%s' "$file_line" >>"$data/edits" && to_disk "$data/edits"; } || fail unfinished "$(probe)" || return
    log_bytes=$(($3 + ${#file_line}))
    rm -f "$in_place"
}

# Once the log has the records, the worker must not take the change for one that was not made: what fails then is
# "halfway", "unfinished" or "sync", and not "write".
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
        mv "$data/old/${name%-*}" "$data/old/${name%%.*}.${name#*-}" || fail halfway || return
        grown=
    done
}
