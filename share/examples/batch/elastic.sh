#!/bin/sh
# Runs a list from a login node, with workers that a factory submits: sh elastic.sh SYSTEM LIST --cores 16 -W 50
# SYSTEM is slurm, pbs, torque, uge or condor; what follows LIST are options of work_queue_factory.
set -u
system=$1 list=$2
shift 2
work_queue_factory -T "$system" --contact "$list.wq/contact" -w 0 --cycle 10 -S "$list.workers" --parent-death "$@" \
    >>"$list.factory.log" 2>&1 &
work_queue_run --listen --manager-only --resume --run-dir "$list.wq" "$list"
code=$?
kill $! # the factory removes the jobs of its workers
wait
exit $code
