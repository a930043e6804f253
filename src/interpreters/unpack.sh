# shellcheck shell=sh
# Runs the Python of a packed environment (a tar archive with bin/python3, as conda-pack makes them), which is unpacked
# once for all workers of a user on a node. Usage: sh -c TEXT sh ARGUMENT... <ARCHIVE; the arguments are Python's.
#
# Environments are kept in a folder of their own and removed when nobody has used them for a day.
set -eu
say() {
    echo "the environment cannot be used: $*" >&2
    exit 1
}
root=${TMPDIR:-/tmp}/work_queue-environments-$(id -u)
(umask 077 && mkdir -p "$root")
# shellcheck disable=SC3067 # dash has it, too
[ -O "$root" ] || say "$root is not ours"
key=$(sha256sum </dev/stdin | cut -c 1-32)
here=$root/$key
exec 8>>"$here.lock" 9>>"$here.used"
flock -s 9 # until the interpreter ends
flock 8    # one worker unpacks, others wait
touch "$here.used"
if ! [ -e "$here/.whole" ]; then
    # shellcheck disable=SC2016 # for the inner shell
    find "$root" -name '*.used' -mmin +1440 -exec flock -n {} sh -c 'rm -rf "${1%.used}"*' sh {} \;
    rm -rf "$here"
    mkdir "$here"
    tar -xf /dev/stdin -C "$here" >"$here.log" 2>&1 || say "tar: $(tail -n 1 "$here.log")"
    rm -f "$here.log"
    [ -x "$here/bin/python3" ] || say "it has no bin/python3"
    if [ -x "$here/bin/conda-unpack" ]; then
        "$here/bin/python3" "$here/bin/conda-unpack" >&2 || say "conda-unpack failed"
    fi
    : >"$here/.whole"
fi
exec 8>&-
export PATH="$here/bin:$PATH" CONDA_PREFIX="$here"
exec "$here/bin/python3" "$@" </dev/null
