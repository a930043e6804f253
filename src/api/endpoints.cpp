#include "api/endpoints.h"

#include <atomic>

#include "api/session_parts.h"
#include "engine/model/outcome.h"
#include "net/catalog/catalog_client.h"

namespace wq::api {

namespace {

net::contact::KnownAs known_as(const ManagerOptions& options) {
    return {options.name, options.catalog, true, generates_key(options)};
}

// A program may have several managers with open ports; warn the user once.
bool first_open_port_on_stderr() {
    static std::atomic<bool> was_said{false};
    return !was_said.exchange(true);
}

records::logs::LogPaths logs_of(const ManagerOptions& options) {
    records::logs::LogPaths logs;
    logs.debug = options.debug_log;
    logs.debug_flags = options.debug_flags;
    logs.debug_rotate_bytes = options.debug_rotate_bytes;
    logs.statistics = options.stats_log;
    logs.transactions = options.transactions_log;
    if (!options.name.empty()) logs.program = options.name;
    return logs;
}

template <class T>
T or_refuse(Result<T> result) {
    if (!result) refuse(result.error());
    return std::move(*result);
}

}  // namespace

// A run may be resumed after a log cannot be written (interrupted); here nothing has begun.
void refuse(const Error& error) {
    const ExitCode code = error.code == ExitCode::interrupted ? ExitCode::bad_input : error.code;
    throw SetupError(error.message, to_int(code));
}

Endpoints::Endpoints(ManagerOptions options)
    : options_(std::move(options)), lines_(options_.say ? options_.say : print_line) {}

ProgramManagerOptions Endpoints::open() {
    if (options_.output_limit > engine::model::most_output)
        refuse({ExitCode::usage, "output_limit is at most 1 GiB: write larger outputs to a file"});
    ProgramManagerOptions program;
    program.say = say;
    program.disconnect_limit = or_refuse(disconnect_limit_of(options_));
    program.output_limit = options_.output_limit;
    program.ends_workers = options_.shutdown;
    program.logs = logs_of(options_);
    if (options_.listen) open_port(program);
    if (options_.mpi != nullptr) take_ranks(program);
    return program;
}

void Endpoints::open_port(ProgramManagerOptions& program) {
    listening_ = or_refuse(listen(options_, say));
    transport_ = listening_->port.listener.get();
    program.keep_alive = {options_.keepalive_interval, options_.keepalive_timeout};
    program.change_keep_alive = [this](const KeepAlive& wanted) {
        transport_->set_silence(silence_of(wanted));
    };
    program.wires.push_back({std::move(listening_->port.listener), true});
    program.worker = listening_->worker;
    program.described = described();
    if (auto hosts = net::catalog::named_catalog_hosts(options_.catalog)) program.catalog = std::move(*hosts);
    program.lists = listening_->lists;
    program.on_turn = [this](const engine::model::ManagerStats& stats) {
        const std::unique_lock lock(changing_, std::try_to_lock);
        if (lock && listening_->port.entry)
            listening_->port.entry->publish_load({static_cast<std::uint64_t>(stats.tasks_waiting),
                                                  static_cast<std::uint64_t>(stats.workers_connected),
                                                  options_.priority});
    };
    program.announce = [this](const std::function<std::string()>& record) {
        const std::unique_lock lock(changing_, std::try_to_lock);
        if (lock && listening_->port.announcer) listening_->port.announcer->take(record);
        return lock.owns_lock();
    };
}

void Endpoints::take_ranks(ProgramManagerOptions& program) {
    MpiSession::Parts& ranks = options_.mpi->parts();
    if (ranks.rank != 0)
        refuse(
            {ExitCode::usage, "rank " + std::to_string(ranks.rank) +
                                  " of the job is a worker: call serve(); only rank 0 can be the manager"});
    if (ranks.has_manager)
        refuse({ExitCode::usage, "an MpiSession has only one manager, and this one had its manager"});
    if (ranks.is_using_counters)
        refuse(
            {ExitCode::usage, "a SliceQueue of this MpiSession calls MPI: end it before the manager begins"});
    if (ranks.size == 1 && !ranks.works && !options_.listen)
        refuse({ExitCode::usage, "manager_only needs other workers: more ranks, or `listen`"});
    for (const std::string& remark : ranks.remarks) say(remark);
    program.ranks = static_cast<std::uint32_t>(ranks.size);
    program.seal_batches = ranks.tickets != nullptr;
    program.counters = ranks.counters;
    if (ranks.ranks != nullptr) program.borrowed_wires.push_back(ranks.ranks);
    if (ranks.works) {
        own_files_.emplace();
        own_.emplace(ranks.worker, *ranks.launcher, ranks.tickets, ranks.functions.get(), &*own_files_);
        program.own = &*own_;
    }
}

void Endpoints::publish() {
    // From here on, the manager tells the ranks when it ends.
    if (options_.mpi != nullptr) {
        options_.mpi->parts().has_manager = true;
        options_.mpi->parts().begins_to_manage();
    }
    if (listening_ && !options_.contact_file.empty())
        if (const Status written = listening_->port.write_contact(options_.contact_file); !written)
            refuse(written.error());
    if (listening_ && !listening_->warning.empty() && (options_.say || first_open_port_on_stderr()))
        say(listening_->warning);
}

void Endpoints::close(bool lost_a_rank) {
    if (listening_) {  // they may have a line to say, too
        listening_->port.entry.reset();
        listening_->port.announcer.reset();
        listening_->port.note.reset();
    }
    lines_.close();
    if (options_.mpi != nullptr && lost_a_rank) options_.mpi->parts().lost_a_rank = true;
    if (listening_ && !options_.contact_file.empty()) listening_->port.remove_contact(options_.contact_file);
}

int Endpoints::port() const {
    return listening_ ? listening_->port.number() : 0;
}

std::string Endpoints::name() const {
    const std::lock_guard lock(changing_);
    return options_.name;
}

std::vector<std::string> Endpoints::addresses() const {
    if (!listening_) return {};
    const std::lock_guard lock(changing_);
    net::frames::Contact contact = listening_->port.contact();
    std::vector<std::string> all;
    for (std::string& host : contact.addresses)
        all.push_back(net::frames::to_text({std::move(host), contact.port}));
    return all;
}

Status Endpoints::write_contact(const std::string& path) const {
    const std::lock_guard lock(changing_);
    if (!listening_) return Error{ExitCode::usage, "the manager does not listen, so it has no contact"};
    return listening_->port.write_contact(path);
}

// ---- changes ----

// Looks for the user's name and the addresses only once: programs may change the rest often.
manager::status::QueueOfStatus Endpoints::described() {
    if (known_.addresses.empty()) known_ = api::described(options_, listening_->port.number());
    known_.project = options_.name;
    known_.priority = options_.priority;
    known_.tasks_left = options_.tasks_left;
    known_.preferred_connection = options_.preferred_connection;
    return known_;
}

Status Endpoints::change_access(const ManagerOptions& to, ProgramManager& program) {
    if (listening_) {
        net::contact::OpenPort& port = listening_->port;
        const std::string before = port.contact().key;
        const bool same = to.password == options_.password && to.password_file == options_.password_file;
        const auto key = same ? before : key_of(to, say);
        if (!key) return key.error();
        const auto door = status_door(to.status, !key->empty());
        if (!door) return door.error();
        if (const Status listed = port.change(known_as(to), *key, say); !listed) {
            static_cast<void>(port.change(known_as(options_), before, say));
            return listed;
        }
        program.ask([&] {
            transport_->set_plain_refusal(door->plain_refusal);
            transport_->set_key(*key);
        });
        program.list_to_others(door->lists);
        if (!options_.contact_file.empty())
            if (const Status written = port.write_contact(options_.contact_file); !written) return written;
    }
    options_.name = to.name;
    options_.catalog = to.catalog;
    if (auto hosts = net::catalog::named_catalog_hosts(to.catalog)) program.ask_catalog(std::move(*hosts));
    options_.password = to.password;
    options_.password_file = to.password_file;
    options_.status = to.status;
    if (listening_) program.change_worker_command(command_of_worker(options_, listening_->port.number()));
    return success();
}

Status Endpoints::change(const ManagerOptions& to, ProgramManager& program) {
    const std::lock_guard lock(changing_);
    if (const Status sound = check_description(to); !sound) return sound;
    const auto differs = [&](auto field) { return to.*field != options_.*field; };
    if (differs(&ManagerOptions::name) || differs(&ManagerOptions::catalog) ||
        differs(&ManagerOptions::password) || differs(&ManagerOptions::password_file) ||
        differs(&ManagerOptions::status))
        if (const Status done = change_access(to, program); !done) return done;
    options_.priority = to.priority;
    options_.tasks_left = to.tasks_left;
    options_.preferred_connection = to.preferred_connection;
    if (listening_) program.describe(described());
    records::logs::LogPaths fresh = logs_of(to);
    if (!differs(&ManagerOptions::debug_log)) fresh.debug.clear();
    if (!differs(&ManagerOptions::stats_log)) fresh.statistics.clear();
    if (!differs(&ManagerOptions::transactions_log)) fresh.transactions.clear();
    if (const Status open = program.log_to(fresh); !open) return open;
    options_.debug_log = to.debug_log;
    options_.stats_log = to.stats_log;
    options_.transactions_log = to.transactions_log;
    return success();
}

}  // namespace wq::api
