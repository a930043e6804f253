// A program may ask for logs at its start, or later.

#include <algorithm>
#include <atomic>

#include "api/lines.h"
#include "api/listening.h"
#include "api/program_manager.h"
#include "api/session_parts.h"
#include "api/translation.h"
#include "base/background.h"
#include "engine/model/outcome.h"
#include "manager/run/own_worker.h"
#include "net/catalog/catalog_client.h"
#include "records/journal/transactions.h"
#include "records/logs/summary_writer.h"
#include "work_queue/manager.h"

namespace wq {

namespace {

net::contact::KnownAs known_as(const ManagerOptions& options) {
    return {options.name, options.catalog, true, api::generates_key(options)};
}

// A program may have several managers with open ports; warn the user once.
bool first_open_port_on_stderr() {
    static std::atomic<bool> was_said{false};
    return !was_said.exchange(true);
}

std::string& error_of_this_thread() {
    thread_local std::string text;
    return text;
}

// A run may be resumed after a log cannot be written (interrupted); here nothing has begun.
[[noreturn]] void refuse(const Error& error) {
    const ExitCode code = error.code == ExitCode::interrupted ? ExitCode::bad_input : error.code;
    throw SetupError(error.message, to_int(code));
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

class Manager::Impl {
  public:
    explicit Impl(ManagerOptions given)
        : options(std::move(given)), lines(options.say ? options.say : api::print_line) {
        if (options.output_limit > engine::model::most_output)
            refuse({ExitCode::usage, "output_limit is at most 1 GiB: write larger outputs to a file"});
        say = [this](const std::string& text) { lines.add_line(text); };
        api::ProgramManagerOptions program;
        program.say = say;
        program.disconnect_limit = or_refuse(api::disconnect_limit_of(options));
        program.output_limit = options.output_limit;
        program.ends_workers = options.shutdown;
        program.logs = logs_of(options);
        if (options.listen) listen(program);
        if (options.mpi != nullptr) take_ranks(options.mpi->parts(), program);
        manager = or_refuse(api::ProgramManager::start(std::move(program)));
        // From here on, the manager tells the ranks when it ends.
        if (options.mpi != nullptr) {
            options.mpi->parts().has_manager = true;
            options.mpi->parts().begins_to_manage();
        }
        if (listening && !options.contact_file.empty())
            if (const Status written = listening->port.write_contact(options.contact_file); !written)
                refuse(written.error());
        if (listening && !listening->warning.empty() && (options.say || first_open_port_on_stderr()))
            say(listening->warning);
    }
    // Lines said meanwhile may call the manager; it still exists, but accepts nothing more.
    void end() {
        manager->end();
        if (listening) {  // they may have a line to say, too
            listening->port.entry.reset();
            listening->port.announcer.reset();
            listening->port.note.reset();
        }
        lines.close();
    }
    ~Impl() {
        if (options.mpi != nullptr && manager->lost_a_rank()) options.mpi->parts().lost_a_rank = true;
        if (listening && !options.contact_file.empty()) listening->port.remove_contact(options.contact_file);
    }

    void listen(api::ProgramManagerOptions& program) {
        listening = or_refuse(api::listen(options, say));
        transport = listening->port.listener.get();
        program.keep_alive = {options.keepalive_interval, options.keepalive_timeout};
        program.change_keep_alive = [this](const api::KeepAlive& wanted) {
            transport->set_silence(api::silence_of(wanted));
        };
        program.wires.push_back({std::move(listening->port.listener), true});
        program.worker = listening->worker;
        program.described = described();
        if (auto hosts = net::catalog::named_catalog_hosts(options.catalog))
            program.catalog = std::move(*hosts);
        program.lists = listening->lists;
        program.on_turn = [this](const engine::model::ManagerStats& stats) {
            const std::unique_lock lock(changing, std::try_to_lock);
            if (lock && listening->port.entry)
                listening->port.entry->publish_load({static_cast<std::uint64_t>(stats.tasks_waiting),
                                                     static_cast<std::uint64_t>(stats.workers_connected),
                                                     options.priority});
        };
        program.announce = [this](const std::function<std::string()>& record) {
            const std::unique_lock lock(changing, std::try_to_lock);
            if (lock && listening->port.announcer) listening->port.announcer->take(record);
            return lock.owns_lock();
        };
    }

    // Looks for the user's name and the addresses only once: programs may change the rest often.
    manager::status::QueueOfStatus described() {
        if (known.addresses.empty()) known = api::described(options, listening->port.number());
        known.project = options.name;
        known.priority = options.priority;
        known.tasks_left = options.tasks_left;
        known.preferred_connection = options.preferred_connection;
        return known;
    }
    Status change(const ManagerOptions& to);
    Status change_access(const ManagerOptions& to);

    void take_ranks(MpiSession::Parts& ranks, api::ProgramManagerOptions& program) {
        if (ranks.rank != 0)
            refuse({ExitCode::usage,
                    "rank " + std::to_string(ranks.rank) +
                        " of the job is a worker: call serve(); only rank 0 can be the manager"});
        if (ranks.has_manager)
            refuse({ExitCode::usage, "an MpiSession has only one manager, and this one had its manager"});
        if (ranks.is_using_counters)
            refuse({ExitCode::usage,
                    "a SliceQueue of this MpiSession calls MPI: end it before the manager begins"});
        if (ranks.size == 1 && !ranks.works && !options.listen)
            refuse({ExitCode::usage, "manager_only needs other workers: more ranks, or `listen`"});
        for (const std::string& remark : ranks.remarks) say(remark);
        program.ranks = static_cast<std::uint32_t>(ranks.size);
        program.seal_batches = ranks.tickets != nullptr;
        program.counters = ranks.counters;
        if (ranks.ranks != nullptr) program.borrowed_wires.push_back(ranks.ranks);
        if (ranks.works) {
            own_files.emplace();
            own.emplace(ranks.worker, *ranks.launcher, ranks.tickets, ranks.functions.get(), &*own_files);
            program.own = &*own;
        }
    }

    bool set_category(const char* function, const std::string& category,
                      const Result<engine::model::CategorySet>& what);
    bool monitor(const char* function, const std::string& folder,
                 const engine::model::Monitoring& monitoring);
    bool refuse_call(const char* function, const Error& error);  // false
    // After a failure of the manager, last_error() has the reason for every call.
    api::ProgramManager& program() const {
        if (std::string why = manager->failure(); !why.empty()) error_of_this_thread() = std::move(why);
        return *manager;
    }

    ManagerOptions options;
    api::Lines lines;
    std::function<void(const std::string&)> say;
    mutable std::mutex changing;  // of the name and the password in `options` and `listening`
    std::optional<api::Listening> listening;
    manager::status::QueueOfStatus known;           // as described() said last
    net::frames::TcpListener* transport = nullptr;  // for the manager's thread
    std::optional<BackgroundThread> own_files;      // of the own worker
    std::optional<manager::run::OwnWorker> own;
    std::unique_ptr<api::ProgramManager> manager;
};

Manager::Manager(ManagerOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Manager::~Manager() {
    impl_->end();
}

int Manager::port() const {
    return impl_->listening ? impl_->listening->port.number() : 0;
}
std::string Manager::name() const {
    const std::lock_guard lock(impl_->changing);
    return impl_->options.name;
}
std::vector<std::string> Manager::addresses() const {
    if (!impl_->listening) return {};
    const std::lock_guard lock(impl_->changing);
    net::frames::Contact contact = impl_->listening->port.contact();
    std::vector<std::string> all;
    for (std::string& host : contact.addresses)
        all.push_back(net::frames::to_text({std::move(host), contact.port}));
    return all;
}
bool Manager::write_contact(const std::string& path) const {
    const std::lock_guard lock(impl_->changing);
    const Status written =
        impl_->listening
            ? impl_->listening->port.write_contact(path)
            : Status(Error{ExitCode::usage, "the manager does not listen, so it has no contact"});
    if (!written) error_of_this_thread() = written.error().message;
    return written.ok();
}

// ---- changes ----

Status Manager::Impl::change_access(const ManagerOptions& to) {
    if (listening) {
        net::contact::OpenPort& port = listening->port;
        const std::string before = port.contact().key;
        const bool same = to.password == options.password && to.password_file == options.password_file;
        const auto key = same ? before : api::key_of(to, say);
        if (!key) return key.error();
        const auto door = api::status_door(to.status, !key->empty());
        if (!door) return door.error();
        if (const Status listed = port.change(known_as(to), *key, say); !listed) {
            static_cast<void>(port.change(known_as(options), before, say));
            return listed;
        }
        manager->ask([&] {
            transport->set_plain_refusal(door->plain_refusal);
            transport->set_key(*key);
        });
        manager->list_to_others(door->lists);
        if (!options.contact_file.empty())
            if (const Status written = port.write_contact(options.contact_file); !written) return written;
    }
    options.name = to.name;
    options.catalog = to.catalog;
    if (auto hosts = net::catalog::named_catalog_hosts(to.catalog)) manager->ask_catalog(std::move(*hosts));
    options.password = to.password;
    options.password_file = to.password_file;
    options.status = to.status;
    if (listening) manager->change_worker_command(api::command_of_worker(options, listening->port.number()));
    return success();
}

Status Manager::Impl::change(const ManagerOptions& to) {
    const std::lock_guard lock(changing);
    if (const Status sound = api::check_description(to); !sound) return sound;
    const auto differs = [&](auto field) { return to.*field != options.*field; };
    if (differs(&ManagerOptions::name) || differs(&ManagerOptions::catalog) ||
        differs(&ManagerOptions::password) || differs(&ManagerOptions::password_file) ||
        differs(&ManagerOptions::status))
        if (const Status done = change_access(to); !done) return done;
    options.priority = to.priority;
    options.tasks_left = to.tasks_left;
    options.preferred_connection = to.preferred_connection;
    if (listening) manager->describe(described());
    records::logs::LogPaths fresh = logs_of(to);
    if (!differs(&ManagerOptions::debug_log)) fresh.debug.clear();
    if (!differs(&ManagerOptions::stats_log)) fresh.statistics.clear();
    if (!differs(&ManagerOptions::transactions_log)) fresh.transactions.clear();
    if (const Status open = manager->log_to(fresh); !open) return open;
    options.debug_log = to.debug_log;
    options.stats_log = to.stats_log;
    options.transactions_log = to.transactions_log;
    return success();
}

bool Manager::change(const ManagerOptions& to) {
    const Status done = impl_->change(to);
    if (!done) error_of_this_thread() = done.error().message;
    return done.ok();
}

// ---- tasks ----

std::int64_t Manager::submit(Task task) {
    const auto id = impl_->program().submit(std::move(task));
    if (id) return *id;
    error_of_this_thread() = id.error().message;
    return 0;
}
std::int64_t Manager::submit_range(std::string function, std::int64_t first, std::int64_t last,
                                   CallMode mode) {
    return submit(Task::range(std::move(function), first, last, mode));
}

namespace {
// As in Work Queue.
std::optional<Duration> limit_of(int timeout_seconds) {
    if (timeout_seconds == wait_for_task) return std::nullopt;
    if (timeout_seconds == 0) return std::chrono::seconds(1);
    return std::chrono::seconds(timeout_seconds < 0 ? 5 : timeout_seconds);
}
}  // namespace

std::optional<Task> Manager::wait(int timeout_seconds) {
    const auto limit = limit_of(timeout_seconds);
    const Instant began = instant_now();
    if (!impl_->program().gather(limit.value_or(Duration::max()))) return impl_->program().wait(Duration{0});
    return impl_->program().wait(limit ? std::optional(*limit - (instant_now() - began)) : limit);
}
bool Manager::gather(std::chrono::nanoseconds limit) {
    return impl_->program().gather(limit);
}
std::optional<Task> Manager::wait_for_tag(const std::string& tag, int timeout_seconds) {
    return impl_->program().wait(limit_of(timeout_seconds), &tag);
}
std::optional<Task> Manager::wait_at_most(std::chrono::nanoseconds limit) {
    return impl_->program().wait(limit);
}
std::optional<Task> Manager::wait_for_tag_at_most(const std::string& tag, std::chrono::nanoseconds limit) {
    return impl_->program().wait(limit, &tag);
}

bool Manager::empty() const {
    return impl_->program().empty();
}
int Manager::hungry() const {
    return impl_->program().tasks_wanted();
}
TaskState Manager::task_state(std::int64_t id) const {
    return impl_->program().task_state(id);
}

// ---- cancelling ----

std::optional<Task> Manager::cancel_by_taskid(std::int64_t id) {
    return impl_->program().cancel(id);
}
std::optional<Task> Manager::cancel_by_tag(const std::string& tag) {
    return impl_->program().cancel_tagged(tag);
}
std::vector<Task> Manager::cancel_by_category(const std::string& category) {
    return impl_->program().cancel_category(&category);
}
std::vector<Task> Manager::cancel_all() {
    return impl_->program().cancel_category(nullptr);
}

std::string Manager::why(std::int64_t id) const {
    return impl_->program().why(id);
}

// ---- workers ----

int Manager::shutdown_workers(int count) {
    return impl_->program().shut_down(count);
}
int Manager::drain(const std::string& hostname, bool on) {
    return impl_->program().drain(hostname, on);
}

void Manager::block_host(const std::string& hostname) {
    impl_->program().block(hostname, 0);
}
void Manager::block_host_with_timeout(const std::string& hostname, std::int64_t seconds) {
    impl_->program().block(hostname, seconds);
}
void Manager::unblock_host(const std::string& hostname) {
    impl_->program().unblock(&hostname);
}
void Manager::unblock_all() {
    impl_->program().unblock(nullptr);
}
std::vector<std::string> Manager::blocked_hosts() const {
    return impl_->program().blocked_hosts();
}

// ---- tasks that take too long ----

bool Manager::activate_fast_abort(double multiplier) {
    return activate_fast_abort_category("default", multiplier);
}
bool Manager::activate_fast_abort_category(const std::string& category, double multiplier) {
    return impl_->program().activate_fast_abort(category, multiplier);
}

// ---- categories and monitoring ----

// Programs rarely check the returned bool, so the user gets a line, too.
bool Manager::Impl::set_category(const char* function, const std::string& category,
                                 const Result<engine::model::CategorySet>& what) {
    if (!what) return refuse_call(function, what.error());
    return program().set_category(category, *what) || refuse_call(function, manager->ended());
}

bool Manager::Impl::refuse_call(const char* function, const Error& error) {
    const std::string text = std::string(function) + ": " + error.message;
    say(text);
    error_of_this_thread() = text;
    return false;
}

namespace {
Result<engine::model::CategorySet> amounts(
    std::optional<engine::model::Sizes> engine::model::CategorySet::*field, const TaskResources& said) {
    if (const Status sound = api::check_amounts(said); !sound) return sound.error();
    engine::model::CategorySet what;
    what.*field = api::sizes_of(said);
    return what;
}
}  // namespace

bool Manager::specify_category_max_resources(const std::string& category, const TaskResources& most) {
    return impl_->set_category(__func__, category, amounts(&engine::model::CategorySet::max, most));
}
bool Manager::specify_category_min_resources(const std::string& category, const TaskResources& least) {
    return impl_->set_category(__func__, category, amounts(&engine::model::CategorySet::min, least));
}
bool Manager::specify_category_first_allocation_guess(const std::string& category,
                                                      const TaskResources& first) {
    return impl_->set_category(__func__, category, amounts(&engine::model::CategorySet::first, first));
}
bool Manager::specify_category_mode(const std::string& category, AllocationMode mode) {
    const auto known = api::mode_of(mode);
    if (!known) return impl_->refuse_call(__func__, known.error());
    engine::model::CategorySet what;
    what.mode = *known;
    return impl_->set_category(__func__, category, what);
}
void Manager::specify_category_max_concurrent(const std::string& category, int most) {
    engine::model::CategorySet what;
    what.max_concurrent = std::max(most, -1);
    impl_->set_category(__func__, category, what);
}
bool Manager::enable_category_resource(const std::string& category, const std::string& resource, bool on) {
    const auto kind = api::resource_named(resource);
    if (!kind) return impl_->refuse_call(__func__, kind.error());
    engine::model::CategorySet what;
    what.automatic = {*kind, on};
    return impl_->set_category(__func__, category, what);
}
bool Manager::initialize_categories(const std::string& summaries_file, const TaskResources& most) {
    if (const Status sound = api::check_amounts(most); !sound)
        return impl_->refuse_call(__func__, sound.error());
    const auto earlier = records::logs::read_summaries(summaries_file);
    if (!earlier) return impl_->refuse_call(__func__, earlier.error());
    if (!earlier->warning.empty()) impl_->say(std::string(__func__) + ": " + earlier->warning);
    return impl_->program().begin_categories(earlier->samples, api::sizes_of(most)) ||
           impl_->refuse_call(__func__, impl_->manager->ended());
}
std::vector<CategorySummary> Manager::categories() const {
    return impl_->program().categories();
}
std::vector<WorkerSummary> Manager::workers() const {
    return impl_->program().workers();
}
bool Manager::Impl::monitor(const char* function, const std::string& folder,
                            const engine::model::Monitoring& monitoring) {
    std::string path;
    if (!folder.empty()) {
        const auto found = api::summaries_folder(folder);
        if (!found) return refuse_call(function, found.error());
        path = *found;
    }
    return program().monitor(monitoring, path) || refuse_call(function, manager->ended());
}
bool Manager::enable_monitoring(const std::string& folder, bool watchdog) {
    return impl_->monitor(__func__, folder, {true, watchdog});
}
bool Manager::enable_monitoring_full(const std::string& folder, bool watchdog) {
    return impl_->monitor(__func__, folder, {true, watchdog, true});
}

// ---- figures and settings ----

Statistics Manager::stats() const {
    return impl_->program().statistics();
}
Statistics Manager::stats_category(const std::string& category) const {
    return impl_->program().statistics_of(category);
}
bool Manager::tune(const std::string& name, double value) {
    const Status set = impl_->program().tune(name, value);
    if (set) return true;
    impl_->say(set.error().message);
    error_of_this_thread() = set.error().message;
    return false;
}
const std::string& Manager::last_error() const {
    return error_of_this_thread();
}

}  // namespace wq

namespace wq::api {

Status ProgramManager::open_logs(const records::logs::LogPaths& paths) {
    if (!paths.any()) return success();
    auto logs = records::logs::ProgramLogs::open(paths, started_.wall, options_.say);
    if (!logs) return logs.error();
    logs_.push_back(std::move(*logs));
    recorder_.write_to(*logs_.back());
    return success();
}

Status ProgramManager::log_to(const records::logs::LogPaths& paths) {
    Status done = success();
    const bool asked = queue_.ask([&] {
        done = open_logs(paths);
        if (!done) return;
        if (!paths.transactions.empty()) log_unfinished(*logs_.back());
        if (!paths.statistics.empty()) manager_->sample_every(sample_often, manager::run::now());
    });
    return asked ? done : ended();
}

// Tasks that are running now wait in the new log until they end.
void ProgramManager::log_unfinished(records::logs::ProgramLogs& logs) {
    const engine::model::Ledger& ledger = manager_->reactor().ledger();
    tasks_.for_each([&](TaskData& task) {
        const Interval all{static_cast<std::uint64_t>(task.id) - 1,
                           static_cast<std::uint64_t>(task.id) - 1 + task.count()};
        const engine::model::Shape& shape = ledger.shape(ledger.shape_of(TaskId(all.first)));
        logs.transaction(wall_now(),
                         records::journal::task_waiting_text(
                             all, task.category, manager_->records().requested(shape.needs, shape.category)));
    });
}

void ProgramManager::change_worker_command(std::string command) {
    queue_.ask([&] { first_worker_.change(std::move(command)); });
}

void ProgramManager::debug(std::string_view subsystem, const std::string& text) {
    for (const auto& logs : logs_) logs->debug(subsystem, text);
}

void ProgramManager::write_notes() {
    if (logs_.empty()) return;
    for (const Wire& wire : options_.wires)
        for (const net::frames::Note& note : wire.transport->take_notes()) debug(note.subsystem, note.text);
}

}  // namespace wq::api
