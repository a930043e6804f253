// Options of a worker.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/time.h"
#include "engine/model/worker_table.h"
#include "net/messages/messages.h"
#include "node/launcher/launcher.h"

namespace wq::worker {

struct WorkerOptions {
    net::messages::Hello hello;
    node::launcher::LauncherOptions launcher;
    std::string index_variable;  // a second name for WORK_QUEUE_TASK_INDEX; empty: none
    Duration beat = std::chrono::seconds(1);
    // A manager not heard for this long is lost, and its tasks are killed. None: no limit, for a manager in
    // this process, or over TCP, which notices by itself.
    std::optional<Duration> manager_silence = engine::model::manager_silence;
    std::optional<Instant> leaves_at;        // when its batch job ends
    bool forks_calls = true;                 // false: its launcher has no functions
    std::chrono::seconds fetch_timeout{60};  // longest time without data from a URL
    std::string kept_cache;  // folder where cached inputs stay; empty: removed with the worker
    std::string wrapper;     // of `--task-wrapper`: a command that gets each line; empty: none
};

}  // namespace wq::worker
