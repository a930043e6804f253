#!/bin/sh
# Runs a list from a login node, on up to 50 workers of a batch system: sh elastic.sh SYSTEM LIST --cores 16 --wall-time 4h
# SYSTEM is slurm, pbs, torque, uge or condor; what follows LIST are options of work_queue_factory.
set -eu
system=$1 list=$2
shift 2
options=$(for word in "$@"; do printf "'%s' " "$(printf '%s' "$word" | sed "s/'/'\\\\''/g")"; done)
exec work_queue_run --resume --manager-only --grow "$system:50" --grow-options "$options" "$list"
