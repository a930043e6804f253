# shellcheck shell=bash
# Completion of the options of work_queue_run, work_queue_worker, work_queue_factory, work_queue_graph_log, work_queue_graph_workers, work_queue_report, work_queue_status, work_queue_slices, runtask, catalog_server, catalog_query, catalog_update, work_queue_serverize, work_queue_python and *_submit_workers for bash; installed where bash-completion finds it.

_work_queue_run() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    # What follows `--` is a command of the user's own.
    if [[ " ${COMP_WORDS[*]:0:COMP_CWORD} " == *" -- "* ]]; then
        mapfile -t COMPREPLY < <(compgen -A command -f -- "$word")
        return
    fi
    # --output RUN TASK: the second is a number.
    if ((COMP_CWORD > 2)) && [[ ${COMP_WORDS[COMP_CWORD - 2]} == --output ]]; then
        COMPREPLY=()
        return
    fi
    case $before in
    --tickets) mapfile -t COMPREPLY < <(compgen -W "auto rma message" -- "$word") ;;
    --progress | --plots) mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$word") ;;
    --run-dir | --output | --monitor-output) mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
    --password) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    --shell) mapfile -t COMPREPLY < <(compgen -A command -- "$word") ;;
    --bind) mapfile -t COMPREPLY < <(compgen -W "none core numa" -- "$word") ;;
    --retries | --max-losses | --reconnect-timeout | --timeout | --grace | --cores | --memory | --disk | --gpus | --walltime | --array | --jobs | -j | --output-limit | --speculate | \
        --storage-timeout | --index-variable | --threads-per-core | --why | --grow | --grow-options | --poll | --lease)
        COMPREPLY=()
        ;;
    *)
        if [[ $word == -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "--array --bind --catalog --cores --disk --dry-run --each --gpus --grace --grow --grow-options
                --halt-on-failure --help --index-variable --jobs --json --keep-batch-environment --keep-hosts --lease --listen --manager-only --max-losses --memory --monitor
                --monitor-output --name --once --output --output-limit --password --plots --poll --progress --reconnect-timeout --resume --resume-failed --retries --run-dir --shared-list --shell --speculate --stats-log --status
                --storage-timeout --threads-per-core --tickets --timeout --verbose --version --walltime --watch --why -j -v" \
                -- "$word")
        else
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
        fi
        ;;
    esac
}

_work_queue_graph_log() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    case $before in
    -T) mapfile -t COMPREPLY < <(compgen -W "png svg pdf script" -- "$word") ;;
    -u) mapfile -t COMPREPLY < <(compgen -W "s m h d" -- "$word") ;;
    -c) mapfile -t COMPREPLY < <(compgen -A command -- "$word") ;;
    -r) COMPREPLY=() ;;
    *)
        if [[ $word == -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "-c -o -T -r -u --help --log --skip-empty --version" -- "$word")
        else
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
        fi
        ;;
    esac
}

_work_queue_graph_workers() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    if [[ $before == -c ]]; then
        mapfile -t COMPREPLY < <(compgen -A command -- "$word")
    elif [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "-c -g -o -t -w --help --png --version" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}

_work_queue_report() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    if [[ $before == --csv ]]; then
        mapfile -t COMPREPLY < <(compgen -d -- "$word")
    elif [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "--csv --help --json --no-commands --no-output --output --text --trace --version" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}

_work_queue_status() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    case $before in
    --project-name | -M | --timeout | -t | --every | --catalog | -C | --where) COMPREPLY=() ;;
    --contact | --password | -P | --ssl-ca) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    *)
        if [[ $word == -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "-A -C -M -P -Q -R -T -W -h -l -t -v --able-workers --capacity --catalog --contact --every --factories
                --help --json --password --project-name --resources --ssl --ssl-ca --statistics --tasks --timeout --verbose --version --watch --where
                --workers" -- "$word")
        else
            mapfile -t COMPREPLY < <(compgen -A hostname -f -- "$word")
        fi
        ;;
    esac
}

_work_queue_slices() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    case $before in
    --delivery) mapfile -t COMPREPLY < <(compgen -W "exactly-once at-least-once" -- "$word") ;;
    --tickets) mapfile -t COMPREPLY < <(compgen -W "auto rma message" -- "$word") ;;
    --epochs | -e | --seed | --slices | -n | --slices-per-work | --record-bytes | --retries | --save-every | --name | --wait) COMPREPLY=() ;;
    *)
        if [[ $word == -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "-e -n -w --audit --checkpoint --contact --delivery --epochs --explain --help --join --lines
                --name --no-shuffle --prefix --record-bytes --retries --save-every --seed --slices --slices-per-work --stats
                --tensorboard --tickets --version --wait --works" -- "$word")
        else
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
        fi
        ;;
    esac
}

_runtask() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    case $before in
    --master | -m) mapfile -t COMPREPLY < <(compgen -A hostname -- "$word") ;;
    --name | -n | --id | -i | --jobs | --retries | --timeout | --poll | --lease | --release) COMPREPLY=() ;;
    *)
        if [[ $word == -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "-h -i -m -n --check --dot --force --help --id --jobs --lease --lock --master --name
                --once --poll --release --reset --retries --serve --status --timeout --version" -- "$word")
        else
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
        fi
        ;;
    esac
}

# Those that a submit command passes on.
_work_queue_worker_options="--arch --bind --catalog --connect-timeout --contact --coprocess --coprocess-cores --coprocess-disk
    --coprocess-gpus --coprocess-memory --coprocesses-total --cores --debug --debug-file
    --debug-rotate-max --disk --feature --from-factory --gpus --grace --help --idle-timeout --json
    --keep-cache --manager-name --max-backoff --memory --min-backoff --os --parent-death --password --single-shot
    --ssl --ssl-ca --task-wrapper --threads-per-core --timeout --url-timeout --version --volatility --wall-time
    --workdir -C -M -P -b -d -h -i -o -s -t -v"

_work_queue_worker() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    case $before in
    --keep-cache | --workdir | -s) mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
    --task-wrapper) mapfile -t COMPREPLY < <(compgen -A command -- "$word") ;;
    --contact | --coprocess | --password | -P | --ssl-ca | --debug-file | -o) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    --cores | --memory | --disk | --gpus | --coprocess-*) mapfile -t COMPREPLY < <(compgen -W "all" -- "$word") ;;
    --bind) mapfile -t COMPREPLY < <(compgen -W "none core numa" -- "$word") ;;
    --debug | -d) mapfile -t COMPREPLY < <(compgen -W "all wq tcp auth task resource notice" -- "$word") ;;
    --timeout | -t | --connect-timeout | --idle-timeout | --min-backoff | -i | --max-backoff | -b | --wall-time | --grace | \
        --feature | --from-factory | --manager-name | -M | --catalog | -C | --arch | --os | --url-timeout | --volatility | --debug-rotate-max | \
        --threads-per-core | --coprocesses-total)
        COMPREPLY=()
        ;;
    *)
        if [[ $word == -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "$_work_queue_worker_options --detect --draw" -- "$word")
        else
            mapfile -t COMPREPLY < <(compgen -A hostname -- "$word")
        fi
        ;;
    esac
}

_work_queue_factory() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    # What follows `--` is for the batch system.
    if [[ " ${COMP_WORDS[*]:0:COMP_CWORD} " == *" -- "* ]]; then
        COMPREPLY=()
        return
    fi
    case $before in
    --batch-type | -T)
        if [[ $word == */* ]]; then
            mapfile -t COMPREPLY < <(compgen -f -- "$word") # a driver
        else
            mapfile -t COMPREPLY < <(compgen -W "slurm condor pbs torque uge lsf local dryrun" -- "$word")
        fi
        ;;
    --scratch-dir | -S) mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
    --contact | --password | -P | --ssl-ca | --config-file | -C | --worker-binary) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    --task-wrapper) mapfile -t COMPREPLY < <(compgen -A command -- "$word") ;;
    --manager-name | -M | --catalog | --min-workers | -w | --max-workers | -W | --workers-per-cycle | --tasks-per-worker | --timeout | -t | \
        --factory-timeout | --cores | --memory | --disk | --gpus | --wall-time | --feature | --env | --worker-start-cmd | --wrapper | \
        --extra-options | -E | --batch-options | -B | --condor-requirements | --status-interval | --factory-name | --cycle)
        COMPREPLY=()
        ;;
    *)
        if [[ $word == -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "--autosize --batch-options --batch-type --capacity --catalog --condor-requirements --config-file
                --contact --cores --cycle --disk --dry-run --env --extra-options --factory-name --factory-timeout --feature --gpus --help
                --json --manager-name --max-workers --memory --min-workers --parent-death --password --scratch-dir --ssl --ssl-ca
                --status-interval --task-wrapper --tasks-per-worker --timeout --version --wall-time --worker-binary --worker-start-cmd
                --workers-per-cycle --wrapper -B -C -E -M -P -S -T -W -c -h -t -v -w" -- "$word")
        else
            mapfile -t COMPREPLY < <(compgen -A hostname -- "$word")
        fi
        ;;
    esac
}

# _submit_workers OPTIONS: the options of work_queue_worker, those of all submit commands, and these of the batch system.
_submit_workers() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    case $before in
    --scratch-dir) mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
    --worker-binary) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    --worker-start-cmd | --worker-options | --wrapper | -E | --parameters | -p | --requirements | -r | --class-ad | --batch-options | --docker-universe) COMPREPLY=() ;;
    -*)
        _work_queue_worker
        ;;&
    *)
        if [[ $word == -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "$_work_queue_worker_options --dry-run --scratch-dir --worker-binary
                --worker-options --worker-start-cmd --wrapper -E $1" -- "$word")
        elif [[ $before != -* ]]; then
            mapfile -t COMPREPLY < <(compgen -A hostname -- "$word")
        fi
        ;;
    esac
}
_slurm_submit_workers() { _submit_workers "--parameters -p -j"; }
_pbs_submit_workers() { _submit_workers "--parameters -p -j"; }
_torque_submit_workers() { _submit_workers "--parameters -p -j"; }
_uge_submit_workers() { _submit_workers "--parameters -p -j"; }
_condor_submit_workers() { _submit_workers "--autosize --class-ad --docker-universe --requirements --spool -r"; }

_work_queue_serverize() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    case $before in
    --function) COMPREPLY=() ;;
    --version) mapfile -t COMPREPLY < <(compgen -W "work_queue" -- "$word") ;;
    --src | --dest | --pack) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    *) mapfile -t COMPREPLY < <(compgen -W "--dest --function --help --pack --src --version -h" -- "$word") ;;
    esac
}

_catalog_server() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    case $before in
    --port | -p | --interface | -I | --name | -n | --lifetime | -l | --memory | --history-limit | --server-size | -M | --timeout | -T | --ssl-port | --update-host | -u | --update-interval | -U)
        COMPREPLY=()
        ;;
    *)
        if [[ $word == -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "--background --help --history --history-limit --interface --lifetime --memory --name --pid-file --port --port-file --server-size --ssl-cert --ssl-key --ssl-port --ssl-port-file --timeout
                --update-host --update-interval --version -B -C -H -I -K -M -T -U -Y -Z -b -h -l -n -p -u -v" -- "$word")
        else
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
        fi
        ;;
    esac
}

_catalog_query() {
    local word=${COMP_WORDS[COMP_CWORD]}
    COMPREPLY=()
    [[ $word != -* ]] || mapfile -t COMPREPLY < <(compgen -W "--catalog --help --output --timeout --version --where -c -h -p -t -v -w" -- "$word")
}

_catalog_update() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    case $before in
    --file | -f) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    --catalog | -c) COMPREPLY=() ;;
    *) mapfile -t COMPREPLY < <(compgen -W "--catalog --file --help --version -c -f -h -v" -- "$word") ;;
    esac
}

_work_queue_python() {
    local word=${COMP_WORDS[COMP_CWORD]}
    # What follows the script is its own.
    if [[ $word == -* && ${COMP_WORDS[COMP_CWORD - 1]} == work_queue_python ]]; then
        mapfile -t COMPREPLY < <(compgen -W "--help --manager-only --version -h" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}

complete -o filenames -F _work_queue_run work_queue_run
complete -F _work_queue_worker work_queue_worker
complete -o filenames -F _work_queue_factory work_queue_factory
complete -o filenames -F _work_queue_graph_log work_queue_graph_log
complete -o filenames -F _work_queue_graph_workers work_queue_graph_workers
complete -o filenames -F _work_queue_report work_queue_report
complete -o filenames -F _work_queue_status work_queue_status
complete -o filenames -F _work_queue_slices work_queue_slices
complete -o filenames -F _runtask runtask
complete -o filenames -F _catalog_server catalog_server
complete -F _catalog_query catalog_query
complete -o filenames -F _catalog_update catalog_update
complete -o filenames -F _work_queue_serverize work_queue_serverize poncho_package_serverize
complete -o filenames -F _work_queue_python work_queue_python
for system in slurm condor pbs torque uge; do
    complete -F "_${system}_submit_workers" "${system}_submit_workers"
done
unset system
