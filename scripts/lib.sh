# shellcheck shell=sh
# What scripts/quickstart and scripts/test share. Sourced, after ROOT (the checkout) is set.
ME=scripts/${0##*/} # for messages

say() { printf '%s\n' "$*"; }
die() {
    printf '%s: %s\n' "$ME" "$*" >&2
    exit 1
}

unknown_option() {
    printf '%s: there is no option %s (see %s --help)\n' "$ME" "$1" "$ME" >&2
    exit 64
}

# stage TEXT...: a step begins; says how long the script has run.
STARTED=$(date +%s)
elapsed() { echo $(($(date +%s) - STARTED)); }
stage() { printf '== [%3d s] %s\n' "$(elapsed)" "$*"; }

# release: the Debian whose names packages have here, 12 or 13; what is neither is rather like the newer one.
release() {
    # shellcheck source=/dev/null
    (. "${OS_RELEASE:-/etc/os-release}" && [ "${ID:-} ${VERSION_ID:-}" = "debian 12" ] && echo 12) 2>/dev/null || echo 13
}

# packages_for PURPOSE...: their packages, from scripts/packages.
packages_for() {
    release=$(release)
    for purpose in "$@"; do
        sed -n "s/^$purpose\(@$release\)\{0,1\} //p" "$ROOT/scripts/packages"
    done | tr ' ' '\n'
}

# debian_mirror: where packages of Debian come from: DEBIAN_MIRROR, or where this machine's apt gets them.
debian_mirror() {
    printf '%s\n' "${DEBIAN_MIRROR:-$(apt-get indextargets --format "\$(REPO_URI)" 'Identifier: Packages' 'Label: Debian' 2>/dev/null |
        sort -u | head -n 1)}"
}

is_installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# As root: runs "$@" while Debian's packages start no services, as /usr/sbin/policy-rc.d ($policy) tells them, unless the
# machine has one of its own. Tests start an sshd themselves, and a developer's machine must not get one for everybody,
# not after its next boot either.
# shellcheck disable=SC2016  # expanded by the shell that runs it
without_services='
policy=$1 new_sshd=$2
shift 2
if [ ! -h "$policy" ] && (set -C && printf "#!/bin/sh\nexit 101\n" >"$policy") 2>/dev/null; then
    trap "rm -f \"\$policy\"" EXIT
    trap "exit 1" HUP INT TERM
    chmod 755 "$policy"
fi
"$@" || exit
[ -z "$new_sshd" ] || ! command -v systemctl >/dev/null || systemctl disable --now ssh.service ssh.socket || :
'

# install_packages PURPOSE...: installs those that are missing and does nothing at all when none is.
install_packages() {
    missing=
    for package in $(packages_for "$@"); do
        is_installed "$package" || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    command -v apt-get >/dev/null ||
        die "no apt-get here; install what Debian $(release) calls:$missing"
    [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null ||
        die "neither root nor sudo; ask an administrator for: apt-get install --no-install-recommends$missing"
    stage "installing$missing"
    case "$missing " in *" openssh-server "*) new_sshd=1 ;; *) new_sshd= ;; esac
    log=$(mktemp)
    # shellcheck disable=SC2086  # a list of words
    if as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q >"$log" 2>&1 &&
        as_root env DEBIAN_FRONTEND=noninteractive sh -c "$without_services" sh "${POLICY_RC_D:-/usr/sbin/policy-rc.d}" \
            "$new_sshd" apt-get install -y -q --no-install-recommends $missing \
            >>"$log" 2>&1 </dev/null; then
        rm -f "$log"
    else
        tail -n 5 "$log" >&2
        rm -f "$log"
        die "apt-get could not install:$missing"
    fi
}

# Without these, ccache keeps nothing that uses parsed headers; our sources have no __TIME__.
export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS:+$CCACHE_SLOPPINESS,}pch_defines,time_macros"

# configure FOLDER [OPTION...]: CMake with Ninja, quiet unless it fails.
configure() {
    # Paths below ROOT count as relative, so that a second clone finds what the first one compiled.
    export CCACHE_BASEDIR="$ROOT" CCACHE_NOHASHDIR=1
    folder=$1
    shift
    log=$(mktemp)
    if cmake -S "$ROOT" -B "$folder" -G Ninja "$@" >"$log" 2>&1; then
        rm -f "$log"
    else
        cat "$log" >&2
        rm -f "$log"
        die "CMake could not configure $folder"
    fi
}

# build FOLDER [TARGET...]: without targets all; with what Ninja says in FOLDER/build.log and, of that, how far it is
# on stdout.
build() {
    folder=$1
    shift
    log=$folder/build.log
    # Of a pipe only the last command's status is known, so the first one's goes with the log.
    {
        NINJA_STATUS='step %f %t ' cmake --build "$folder" ${1:+--target "$@"} 2>&1 && echo built
    } | tee "$log" | show_steps
    [ "$(tail -n 1 "$log")" != built ] || return 0
    sed -n '/^FAILED: /,$p' "$log" | head -n 40 >&2
    die "could not build $folder; all that was said is in $log"
}

# show_steps: of "step DONE ALL ..." lines, on a terminal one line that changes, else a line every tenth.
show_steps() {
    tenth=0
    while read -r word ended all _; do
        [ "$word" = step ] || continue
        if [ -t 1 ]; then
            printf '\r   %d of %d ' "$ended" "$all"
        elif [ $((ended * 10 / all)) -gt "$tenth" ]; then
            tenth=$((ended * 10 / all))
            say "   [$(elapsed) s] $ended of $all"
        fi
    done
    [ ! -t 1 ] || echo
}

# mpi_environment: Open MPI refuses root unless told twice, and in containers its copies between processes
# (CMA, which needs ptrace rights) fail with a message per rank: 4 has them in vader, 5 in smsc. How 5 finds the way
# between interfaces it asks the kernel, which knows none from an address to itself, with a message per rank.
# MPICH 4.3 of Debian 13 hung in MPI_Init in 4 of 150 starts of 4 ranks: UCX patches mmap() while its own thread runs.
mpi_environment() {
    if [ "$(id -u)" -eq 0 ]; then
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    fi
    export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_smsc=^cma OMPI_MCA_reachable=weighted
    export UCX_MEM_MMAP_HOOK_MODE=none
}
