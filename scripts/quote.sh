# shellcheck shell=sh
# quote WORD: as a shell reads it back, whatever is in it. Plain words stay as they are.
quote() {
    case $1 in
    '' | *[!A-Za-z0-9_./=,:%+@-]*) printf '%s\n' "$1" | sed "s/'/'\\\\''/g; 1s/^/'/; \$s/\$/'/" ;;
    *) printf '%s\n' "$1" ;;
    esac
}
