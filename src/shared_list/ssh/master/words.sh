# shellcheck shell=sh disable=SC2034,SC2154  # variables of the other parts
# What a worker runs at the master by ssh, and keeps for all its requests (ssh_store.cpp). Requests come as lines
# on standard input, answers go to standard output. It knows no grammar of lists, and does with sh, flock and
# POSIX utilities what local_exchange.cpp does by system calls; both share lists.
#
# Each command that is no builtin costs about 1 ms, so requests that only append have three of them. `read` takes
# not a byte beyond a line from standard input, as a command with a buffer would.
#
# The parts are one script, in the order of ../CMakeLists.txt.
LC_ALL=C
export LC_ALL
newline='
'
mark=
why=
names=
grown=

say() { printf '%s %s\n' "$mark" "$*"; }

# Remembers why a request cannot be done: a word that the worker knows, and what a command said.
fail() {
    why="$1 ${2%%"$newline"*}"
    return 1
}
