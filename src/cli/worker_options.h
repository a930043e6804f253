// The command line of work_queue_worker as a struct.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "core/resources.h"
#include "launcher/launcher.h"
#include "machine/bound.h"
#include "net/tcp_options.h"

namespace wq::cli {

struct WorkerProgramOptions {
    // One of these says where the manager is.
    std::vector<net::HostPort> managers;
    std::string contact;        // a contact file
    std::string manager_regex;  // of names in the registry

    Duration idle_timeout = std::chrono::minutes(15);
    Duration connect_timeout = std::chrono::minutes(15);
    Duration min_backoff = std::chrono::seconds(1);
    Duration max_backoff = std::chrono::minutes(1);
    Duration grace = std::chrono::seconds(10);
    Duration url_timeout = std::chrono::minutes(1);
    bool single_shot = false;
    bool parent_death = false;
    double volatility = 0;  // chance per minute to end without a word

    // Nothing: what is there.
    std::optional<std::int64_t> cores;
    std::optional<std::int64_t> memory_mb;
    std::optional<std::int64_t> disk_mb;
    std::optional<std::int64_t> gpus;
    // By machine::BoundKind who said that: an option, or "CORES in the environment".
    std::array<std::string, 4> said_by{"--cores", "--memory", "--disk", "--gpus"};
    std::optional<machine::Binding> bind;         // nothing: to cores, where they are ours
    std::optional<std::size_t> threads_per_core;  // nothing: all of them
    std::optional<Duration> wall_time;
    std::vector<std::string> features;

    std::string password_file;
    bool ssl = false;
    std::string ssl_ca;  // a file of certificates

    std::string workdir;  // empty: by the environment
    std::string task_wrapper;
    std::string os, arch;    // of the paths of input files; empty: the host's
    std::string kept_cache;  // folder; empty: cached inputs go with the worker
    std::string factory;
    std::string debug;       // subsystems; empty: none
    std::string debug_file;  // empty: stderr
    std::uint64_t debug_rotate = 10u << 20;

    std::vector<std::string> remarks;  // on options that were given and change nothing

    double time_scale = 1;  // of the transport's and the session's fixed times: tests scale them down
};

struct WorkerCommand {
    enum class Kind { work, help, version, detect };
    Kind kind = Kind::work;
    bool json = false;  // of detect: how it is told
    bool draw = false;
    std::optional<core::Needs> drawn_task;  // that the picture is to be full of
    WorkerProgramOptions work;
};

// `variable`: the environment, whose CORES, MEMORY, DISK and GPUS are defaults. Errors (usage) are one line.
Result<WorkerCommand> parse_worker_command_line(int argc, const char* const* argv,
                                                const std::function<const char*(const char*)>& variable);

std::string worker_help_text();

}  // namespace wq::cli
