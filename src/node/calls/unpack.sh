# shellcheck shell=sh
# Runs the Python of a packed environment (a tar archive with bin/python3, as conda-pack makes them), which is unpacked
# once for all workers of a user on a node. Usage: sh -c TEXT sh ARGUMENT... <ARCHIVE; the arguments are Python's.
#
# Environments are kept in a folder of their own and removed when nobody has used them for a day. Descriptors below 10 are
# this text's.
set -eu
partial=
say() {
    echo "the environment cannot be used: $*" >&2
    [ -z "$partial" ] || rm -rf "$partial"
    exit 1
}
root=${TMPDIR:-/tmp}/work_queue-environments-$(id -u)
(umask 077 && mkdir -p "$root")
# shellcheck disable=SC3067 # dash has it, too
if [ -h "$root" ] || ! [ -O "$root" ]; then say "$root is not a folder of ours: set TMPDIR for the worker"; fi
chmod 700 "$root"
key=$(sha256sum </dev/stdin) || say "sha256sum failed"
key=$(printf %.32s "$key")
[ ${#key} -eq 32 ] || say "sha256sum printed '$key'" # else "$root/$key" could be the folder of all environments
here=$root/$key
# These two stay: who removed one would leave its lock to those who have it open.
exec 8>>"$here.lock" 9>>"$here.used"
flock -s 9 # until the interpreter ends
flock 8    # one worker unpacks, others wait
touch "$here.used"
if ! [ -e "$here/.whole" ]; then
    for used in "$root"/*.used; do
        [ -z "$(find "$used" -mmin +1440)" ] || flock -n "$used" rm -rf "${used%.used}" || :
    done
    partial=$here
    if ! { rm -rf "$here" && mkdir "$here"; }; then say "$here cannot be made"; fi
    tar -xf /dev/stdin -C "$here" >"$here.log" 2>&1 || say "tar: $(tail -n 1 "$here.log")"
    rm -f "$here.log"
    [ -x "$here/bin/python3" ] || say "it has no bin/python3"
    if [ -x "$here/bin/conda-unpack" ]; then
        "$here/bin/python3" "$here/bin/conda-unpack" >&2 || say "conda-unpack failed"
    fi
    : >"$here/.whole"
fi
exec 8>&-
unset PYTHONPATH PYTHONHOME
export PATH="$here/bin:$PATH" CONDA_PREFIX="$here"
exec "$here/bin/python3" "$@" </dev/null
