# shellcheck shell=sh disable=SC2034,SC2154  # variables of the other parts
# Files of the list, with what each master has.

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

# $told: each of $grown, and "+" how many bytes before what it has more belong to the line that this continues: the list
# was replaced amid that line. (To a shell, a line end is nothing.)
look_for_begun() {
    told=
    for name in $grown; do
        old=${name#*.}
        old=${old%-*}
        begun=0
        [ "$old" = 0 ] || [ -z "$(bytes "$((old - 1))" 1 <"$data/old/${name%-*}")" ] ||
            begun=$(bytes 0 "$old" <"$data/old/${name%-*}" | tail -n 1 | awk '{ n = length($0) } END { print n + 0 }')
        told="$told $name+$begun"
    done
} 2>/dev/null

# As many bytes as the answer's words say, also if somebody has renamed a file since: no line has a NUL, so the worker
# takes it for one without a whole line.
send_old() {
    for name in $told; do
        old=${name#*.}
        begun=${name#*+}
        name=${name%+*}
        old=$((${old%-*} - begun))
        part=$((${name#*-} - old))
        padded_bytes "$old" "$part" <"$data/old/${name%-*}" || head -c "$part" /dev/zero
    done
} 2>/dev/null
