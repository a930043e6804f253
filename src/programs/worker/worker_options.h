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
#include "engine/model/resources.h"
#include "net/catalog/catalog_client.h"
#include "net/frames/tcp_socket.h"
#include "node/launcher/launcher.h"
#include "node/machine/machine.h"

namespace wq::programs::worker {

// Of --coprocess and its companions. Amounts are those of all coprocesses together; nothing: as the worker
// offers.
struct CoprocessSettings {
    std::string file;  // empty: none
    std::optional<std::int64_t> count;
    std::optional<Count> cores;
    std::optional<std::int64_t> memory_mb;
    std::optional<std::int64_t> disk_mb;
    std::optional<Count> gpus;
};

struct WorkerProgramOptions {
    // One of these locates the manager.
    std::vector<net::frames::HostPort> managers;
    std::string contact;        // a contact file
    std::string manager_regex;  // matches names in the registry, and in catalogs
    net::catalog::CatalogHosts catalogs;
    bool require_key = false;  // serve no manager that does not prove who it is, however it was found

    Duration idle_timeout = std::chrono::minutes(15);
    Duration connect_timeout = std::chrono::minutes(15);
    Duration min_backoff = std::chrono::seconds(1);
    Duration max_backoff = std::chrono::minutes(1);
    Duration grace = std::chrono::seconds(10);
    Duration url_timeout = std::chrono::minutes(1);
    bool single_shot = false;
    bool parent_death = false;
    double volatility = 0;  // chance per minute to die without notice

    // Nothing: all that the machine has.
    std::optional<std::int64_t> cores;
    std::optional<std::int64_t> memory_mb;
    std::optional<std::int64_t> disk_mb;
    std::optional<std::int64_t> gpus;
    // Source of each limit, by node::machine::BoundKind: an option, or "CORES in the environment".
    std::array<std::string, 4> said_by{"--cores", "--memory", "--disk", "--gpus"};
    std::optional<node::machine::Binding> bind;   // nothing: to cores, if they are ours alone
    std::optional<std::size_t> threads_per_core;  // nothing: all
    std::optional<Duration> wall_time;
    std::vector<std::string> features;
    CoprocessSettings coprocesses;

    std::string password_file;
    bool ssl = false;
    std::string ssl_ca;  // file of certificates

    std::string workdir;  // empty: from the environment
    std::string task_wrapper;
    std::string os, arch;    // in paths of input files; empty: the host's
    std::string kept_cache;  // folder; empty: cached inputs are removed with the worker
    std::string factory;
    std::string debug;       // subsystems; empty: none
    std::string debug_file;  // empty: stderr
    std::uint64_t debug_rotate = 10u << 20;

    std::vector<std::string> remarks;  // about options without effect

    double time_scale = 1;  // scales the fixed times of the transport and session, for tests
};

struct WorkerCommand {
    enum class Kind { work, help, version, detect };
    Kind kind = Kind::work;
    bool json = false;  // of detect: print JSON
    bool draw = false;
    std::optional<engine::model::Needs> drawn_task;  // fills the picture with this task
    WorkerProgramOptions work;
};

// `variable`: the environment; CORES, MEMORY, DISK and GPUS there are defaults. Errors (usage) have one line.
Result<WorkerCommand> parse_worker_command_line(int argc, const char* const* argv,
                                                const std::function<const char*(const char*)>& variable);

std::string worker_help_text();

}  // namespace wq::programs::worker
