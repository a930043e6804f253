# shellcheck shell=sh disable=SC2034,SC2154  # variables of the other parts
# The files as they are.

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
    set -- "$data"/old/*.*
    [ -e "$1" ] || set --
    names=
    for file; do names="$names ${file##*/}"; done
    if renew_twin; then set -- "$twin" "$@"; else set -- "$data/edits" "$@"; fi
    # shellcheck disable=SC2046  # words
    set -- $(words "$list" "$data/edits" "$@")
    [ $# -ge 21 ] || fail look || return
    id=$1_$3_$4.${6#*.}
    inode=$1
    links=$2
    list_bytes=$3
    log_bytes=${10}
    if is_half_written "$log" "$log_bytes"; then
        finish_overwriting && look
        return
    fi
    twin_id=
    [ "$4.${6#*.}" != "${18}.${20#*.}" ] || [ -z "$twin" ] || twin_id=$id
    looks=$most_quick_looks
    shift 21
    look_at_old "$@"
}

# is_half_written LOG BYTES: then $in_place is the complete list; see overwrite()
is_half_written() {
    for in_place in "$data/in_place.$1.$2".*; do [ ! -f "$in_place" ] || return 0; done
    return 1
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
