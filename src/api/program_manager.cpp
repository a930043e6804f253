#include "api/program_manager.h"

#include <climits>

#include "api/translation.h"
#include "base/signals.h"
#include "manager/run/rank_loop.h"
#include "manager/status/lister.h"
#include "records/journal/transactions.h"

namespace wq::api {

namespace {

// Of the time series, without a log of statistics: nobody reads it.
constexpr Duration sample_seldom = std::chrono::minutes(5);
// Ten years: longer times would overflow in sums.
constexpr Duration for_ever = std::chrono::hours(24 * 3650);
constexpr std::int64_t most_seconds = for_ever / std::chrono::seconds(1);

engine::policies::ReactorOptions reactor_options(const ProgramManagerOptions& options) {
    engine::policies::ReactorOptions reactor;
    reactor.max_losses = 0;
    reactor.expected_workers = options.ranks - (options.ranks > 0 && options.own == nullptr ? 1 : 0);
    reactor.wait_for_fitting = true;
    reactor.seal_batches = options.seal_batches;
    reactor.allocation.rest = engine::model::Rest::proportional;
    reactor.limits_memory = false;  // once tasks are monitored, their allocation is enforced
    return reactor;
}

}  // namespace

ProgramManager::ProgramManager(ProgramManagerOptions options)
    : options_(std::move(options)),
      started_(manager::run::now()),
      results_(started_.instant),
      summaries_(options_.summaries, {options_.say, [this](std::int64_t id) { results_.written(id); }}),
      recorder_(tasks_, results_, summaries_),
      categories_(options_.say),
      first_worker_(options_.worker),
      factories_([this](const auto& most) { manager_->release().keep_at_most(most, manager::run::now()); }),
      source_(queue_, tasks_, recorder_, categories_),
      unfinished_(tasks_, source_, queue_, results_),
      status_(tasks_, recorder_, started_) {
    status_.describe(options_.described);
    factories_.set_hosts(options_.catalog);
    tuning_.begin("keepalive-interval", options_.keep_alive.interval);
    tuning_.begin("keepalive-timeout", options_.keep_alive.timeout);
    tuning_.begin("reconnect-timeout", std::chrono::duration<double>(options_.disconnect_limit).count());
}

Result<std::unique_ptr<ProgramManager>> ProgramManager::start(ProgramManagerOptions options) {
    std::unique_ptr<ProgramManager> program(new ProgramManager(std::move(options)));
    if (const Status begun = program->begin(); !begun) return begun.error();
    return program;
}

Status ProgramManager::begin() {
    if (Status open = open_logs(options_.logs); !open) return open;
    manager::ManagerOptions manager;
    manager.most_unwritten_bytes = options_.summaries.most_bytes;
    manager.reactor = reactor_options(options_);
    manager.disconnect_limit = options_.disconnect_limit;
    manager.ranks = options_.ranks;
    manager.sample_every = options_.logs.statistics.empty() ? sample_seldom : sample_often;
    manager.output_limit = options_.output_limit;
    manager.ends_workers = options_.ends_workers;
    manager.how_to_keep_hosts = "unblock_host() readmits it";
    manager.counters = options_.counters;
    manager.lends_memory = true;
    files_ = std::make_unique<BackgroundThread>();
    manager.background = files_.get();
    manager_ = std::make_unique<manager::Manager>(std::move(manager), tasks_, recorder_, started_);
    status_.list(*manager_, std::move(options_.announce));
    status_.list_to_others(*manager_, options_.lists);
    manager_->say = [this](const std::string& text) {
        options_.say(text);
        debug("wq", text);
    };
    thread_ = quiet_thread([this] { run(); });
    return success();
}

void ProgramManager::end() {
    if (!thread_.joinable()) return;
    bool was_asked = false;
    try {
        queue_.ask([&] {
            was_asked = true;
            manager_->stop(engine::model::StopReason::interrupted, Duration{0}, manager::run::now());
        });
    } catch (const std::exception&) {
        if (!was_asked) throw;  // otherwise the manager ends with it and reports it
    }
    thread_.join();
    recorder_.end_logs();
    logs_.clear();  // their last messages come before the end
    summaries_.finish();
}

void ProgramManager::run() {
    try {
        serve();
    } catch (const std::bad_alloc&) {
        fail("no memory left");
    } catch (const std::exception& error) {
        fail(error.what());
    }
}

// The core may be inconsistent, so nothing of it is used any more. TCP workers see a closed connection; ranks
// have no other manager and are told to end.
void ProgramManager::fail(const char* why) noexcept {
    queue_.fail(why);
    source_.drop_requests();
    const auto as_far_as_memory_is_left = [](const auto& work) {
        try {
            work();
        } catch (const std::exception&) {
        }
    };
    for (Wire& wire : options_.wires) wire.transport.reset();
    as_far_as_memory_is_left([&] {
        for (net::frames::Transport* ranks : options_.borrowed_wires)
            manager::run::dismiss_ranks(*ranks, options_.ranks, "the manager has failed");
    });
    as_far_as_memory_is_left([&] {
        if (options_.own != nullptr) options_.own->launcher().kill_all();
    });
    as_far_as_memory_is_left([&] { options_.say(queue_.why_closed()); });
    as_far_as_memory_is_left([&] { recorder_.log_gathered(); });
    unfinished_.begin();
    results_.end();
}

void ProgramManager::serve() {
    manager::run::ManagerLoopParts parts{*manager_, source_, recorder_};
    parts.wires = options_.borrowed_wires;
    for (const Wire& wire : options_.wires) {
        parts.wires.push_back(wire.transport.get());
        if (wire.untrusted) manager_->expect_tcp_workers(*wire.transport);
    }
    parts.own_worker = options_.own;
    parts.files_of_manager = files_.get();
    parts.each_turn = [this](Instant now) { return each_turn(now); };
    // Its only errors come from its source, and ours has none.
    static_cast<void>(manager::run::ManagerLoop(std::move(parts)).run());
    lost_a_rank_ = manager_->lost_a_rank();
    write_notes();
    queue_.close();
    std::vector<CommandQueue::Command> late;
    queue_.take(late);
    for (CommandQueue::Command& command : late)
        if (auto* asked = std::get_if<std::unique_ptr<Asked>>(&command)) (*asked)->run();
    recorder_.log_gathered();
    results_.end();
}

std::optional<Instant> ProgramManager::each_turn(Instant turn) {
    results_.publish();
    // To free a large one takes longer than all else here.
    if (auto memories = tasks_.take_memories(); !memories.empty())
        files_->post([held = std::move(memories)] { return Background::Then(); });
    write_notes();
    const engine::model::ManagerStats now = manager::brief_stats(manager_->reactor());
    if (options_.on_turn) options_.on_turn(now);
    {
        const std::lock_guard lock(figures_mutex_);
        published_ = now;
    }
    std::optional<Instant> next;
    for (const std::optional<Instant> due : {recorder_.log_due(turn), summaries_.watch(turn),
                                             first_worker_.print_if_due(now, turn, options_.say),
                                             status_.announce(now, turn), factories_.check_answers(turn)})
        if (due && (!next || *due < *next)) next = due;
    return next;
}

// ---- tasks ----

Result<std::int64_t> ProgramManager::submit(Task task) {
    std::unique_ptr<TaskData> data = TaskAccess::take(std::move(task));
    if (const Status sound = check(*data); !sound) return sound.error();
    data->report.reset();
    data->exhausted = 0;
    const std::string tag = data->tag;
    const bool by_tag_only = data->by_tag_only;
    results_.expect(*data);
    std::int64_t id = 0;
    try {
        id = queue_.submit(std::move(data));
    } catch (const std::bad_alloc&) {
        results_.forget(tag, by_tag_only);
        throw;
    }
    if (id != 0) return id;
    results_.forget(tag, by_tag_only);
    return ended();
}

std::optional<Task> ProgramManager::wait(std::optional<Duration> limit, const std::string* tag) {
    std::optional<Instant> until;
    if (limit && *limit < for_ever) until = instant_now() + std::max(*limit, Duration{0});
    std::unique_ptr<TaskData> task = results_.wait(until, tag);
    if (!task) task = unfinished_.next(tag);
    if (!task) return std::nullopt;
    task->edit_report().return_time = wall_now();
    return TaskAccess::wrap(std::move(task));
}

bool ProgramManager::gather(Duration limit) {
    if (tuning_.get("wait-retrieve-many") == 0) return true;
    return results_.gather(instant_now() + std::clamp(limit, Duration{0}, for_ever));
}

TaskState ProgramManager::task_state(std::int64_t id) {
    if (id <= 0) return TaskState::unknown;
    if (results_.holds(id) || unfinished_.has(id)) return TaskState::retrieved;
    const TaskState state = answer([&] {
        results_.publish();  // tasks that ended in this turn count as ended
        const TaskId task(static_cast<std::uint64_t>(id) - 1);
        if (task.value() >= tasks_.size()) return TaskState::unknown;
        const engine::model::TaskState now = manager_->reactor().ledger().state(task);
        if (now == engine::model::TaskState::blocked || now == engine::model::TaskState::ready)
            return TaskState::ready;
        if (now == engine::model::TaskState::leased || now == engine::model::TaskState::sealed)
            return TaskState::running;
        return cancelled_.contains(task.value()) ? TaskState::canceled : TaskState::done;
    });
    // It may have ended between the two checks.
    return state == TaskState::done && results_.holds(id) ? TaskState::retrieved : state;
}

// ---- cancelling ----

// Runs on the manager's thread.
std::unique_ptr<TaskData> ProgramManager::cancel_now(TaskData& task) {
    const engine::model::Now now = manager::run::now();
    const TaskId first(static_cast<std::uint64_t>(task.id) - 1);
    cancelled_.insert(Interval{first.value(), first.value() + task.count()});
    RangeTask* range = tasks_.range_of(first);
    if (range == nullptr) {
        manager_->ask(engine::model::CancelRequested{{first.value(), first.value() + 1}}, now);
        return recorder_.take_cancelled();
    }
    manager_->ask(engine::model::CancelRequested{{first.value(), first.value() + task.count()}}, now);
    range = tasks_.range_of(first);
    if (range == nullptr) return nullptr;  // its end time came meanwhile: wait() returns it
    RangeProgress& progress = range->data->edit_report().progress;
    progress = results_.cancelled(*range->data);  // includes what wait() would have reported
    progress.done_total = range->done;
    progress.failed_total = range->failed;
    progress.size = range->size();
    std::unique_ptr<TaskData> taken = tasks_.remove_range(*range);
    taken->report->result = TaskResult::unknown;
    taken->report->reason = "it was cancelled";
    taken->report->finish_time = now.wall;
    return taken;
}

std::string ProgramManager::why(std::int64_t id) {
    std::string why;
    if (id <= 0) return why;
    const bool asked = queue_.ask([&] {
        if (tasks_.find_whole(id) != nullptr)
            why = manager_->reactor().why(TaskId(static_cast<std::uint64_t>(id) - 1), manager::run::now());
    });
    return asked || !unfinished_.has(id) ? why : queue_.why_closed();
}

std::optional<Task> ProgramManager::cancel(std::int64_t id) {
    std::unique_ptr<TaskData> cancelled;
    if (id <= 0) return std::nullopt;
    queue_.ask([&] {
        if (TaskData* data = tasks_.find_whole(id)) cancelled = cancel_now(*data);
        results_.publish();
    });
    if (!cancelled) cancelled = results_.take(id);
    if (!cancelled) cancelled = unfinished_.take(id);
    return cancelled ? std::optional(TaskAccess::wrap(std::move(cancelled))) : std::nullopt;
}

std::optional<Task> ProgramManager::cancel_tagged(const std::string& tag) {
    std::unique_ptr<TaskData> cancelled;
    queue_.ask([&] {
        if (TaskData* data = tasks_.tagged(tag)) cancelled = cancel_now(*data);
        results_.publish();
    });
    if (!cancelled) cancelled = results_.take_tagged(tag);
    if (!cancelled) cancelled = unfinished_.next(&tag);
    return cancelled ? std::optional(TaskAccess::wrap(std::move(cancelled))) : std::nullopt;
}

std::vector<Task> ProgramManager::cancel_category(const std::string* category) {
    std::vector<Task> all;
    const auto take = [&](std::unique_ptr<TaskData> task) {
        if (task) all.push_back(TaskAccess::wrap(std::move(task)));
    };
    queue_.ask([&] {
        std::vector<std::int64_t> wanted;
        tasks_.for_each([&](TaskData& task) {
            if (!task.by_tag_only && (category == nullptr || task.category == *category))
                wanted.push_back(task.id);
        });
        all.reserve(wanted.size());  // a failed push_back would lose a cancelled task
        // While one task is cancelled, another's end time may come; wait() returns that one.
        for (const std::int64_t id : wanted)
            if (TaskData* task = tasks_.find_whole(id)) take(cancel_now(*task));
        results_.publish();
    });
    for (std::unique_ptr<TaskData>& task : results_.take_category(category)) take(std::move(task));
    for (std::unique_ptr<TaskData>& task : unfinished_.take_category(category)) take(std::move(task));
    return all;
}

// ---- workers ----

int ProgramManager::shut_down(int workers) {
    const std::size_t count = workers > 0 ? static_cast<std::size_t>(workers) : 0;
    return static_cast<int>(
        answer([&] { return manager_->release().shut_down(count, manager::run::now()); }));
}

int ProgramManager::drain(const std::string& host, bool on) {
    return static_cast<int>(answer([&] { return manager_->release().drain(host, on, manager::run::now()); }));
}

void ProgramManager::block(const std::string& host, std::int64_t seconds) {
    std::optional<Duration> time;
    if (seconds >= 1) time = std::chrono::seconds(std::min(seconds, most_seconds));
    queue_.ask([&] {
        if (host.empty()) return options_.say("block_host: the name of the host is empty");
        manager_->ask(engine::model::HostBlocked{host, time}, manager::run::now());
    });
}

void ProgramManager::unblock(const std::string* host) {
    const auto which = host == nullptr ? std::nullopt : std::optional(*host);
    queue_.ask([&] { manager_->ask(engine::model::HostUnblocked{which}, manager::run::now()); });
}

std::vector<std::string> ProgramManager::blocked_hosts() {
    return answer([&] { return manager::status::blocked_hosts_of(*manager_); });
}

bool ProgramManager::activate_fast_abort(const std::string& category, double multiplier) {
    return answer([&] { return set_fast_abort(category, multiplier); });
}

// ---- figures and settings ----

engine::model::ManagerStats ProgramManager::stats() {
    engine::model::ManagerStats stats;
    if (!queue_.ask([&] { stats = recorder_.as_seen(manager_->stats()); }))
        stats = recorder_.as_seen(published_);  // the thread has ended
    stats.time_when_started = started_.wall;
    return stats;
}

Statistics ProgramManager::statistics() {
    return manager::status::statistics_of(stats());
}

Statistics ProgramManager::statistics_of(const std::string& category) {
    engine::model::ManagerStats stats = answer(
        [&] { return manager_->stats(recorder_.category_named(category).value_or(CategoryId(UINT32_MAX))); });
    stats.time_application = results_.figures().outside_us;
    stats.time_when_started = started_.wall;
    return manager::status::statistics_of(stats);
}

void ProgramManager::describe(const manager::status::QueueOfStatus& described) {
    queue_.ask([&] { status_.describe(described); });
}

void ProgramManager::ask_catalog(net::catalog::CatalogHosts hosts) {
    queue_.ask([&] { factories_.set_hosts(std::move(hosts)); });
}

void ProgramManager::list_to_others(bool on) {
    queue_.ask([&] { status_.list_to_others(*manager_, on); });
}

int ProgramManager::tasks_wanted() {
    engine::model::ManagerStats stats;
    {
        const std::lock_guard lock(figures_mutex_);
        stats = published_;
    }
    // Tasks submitted since the manager's last turn are waiting, too.
    stats.tasks_waiting += static_cast<std::int64_t>(queue_.submitted()) - stats.tasks_submitted;
    const WantedLimits limits{tuning_.get("hungry-minimum"), tuning_.get("hungry-minimum-factor")};
    return static_cast<int>(std::min<std::int64_t>(api::tasks_wanted(stats, limits), INT_MAX));
}

Status ProgramManager::tune(const std::string& name, double value) {
    const Result<std::string> set = tuning_.set(name, value);
    if (!set) return set.error();
    return queue_.ask([&] { apply_tuning(*set, value); }) ? success() : ended();
}

// Runs on the manager's thread.
bool ProgramManager::set_fast_abort(const std::string& category, double multiplier) {
    const CategoryId id = manager_->category(category);
    manager_->ask(engine::model::FastAbortSet{id, multiplier}, manager::run::now());
    return manager_->reactor().fast_abort(id);
}

// Applies settings of the manager's thread; others are read where they are used.
void ProgramManager::apply_tuning(const std::string& name, double value) {
    manager_->ask(tuning_.of_core(name), manager::run::now());
    if (name == "fast-abort-multiplier") set_fast_abort("default", value);
    if (name == "category-steady-n-tasks")
        categories_.set_steady_tasks(tuning_.count(name), *manager_, manager::run::now());
    if (name == "reconnect-timeout")
        manager_->set_disconnect_limit(std::chrono::seconds(tuning_.count(name)));
    if (name == "fetch-factory") factories_.set_limiting(tuning_.get(name) != 0);
    if (name.starts_with("keepalive-") && options_.change_keep_alive)
        options_.change_keep_alive({tuning_.get("keepalive-interval"), tuning_.get("keepalive-timeout")});
}

// ---- categories and monitoring ----

bool ProgramManager::set_category(const std::string& name, const engine::model::CategorySet& what) {
    return queue_.ask([&] {
        if (name.empty() && what.mode)
            categories_.set_mode_of_others(*what.mode);
        else
            categories_.set(name.empty() ? "default" : name, what, *manager_, manager::run::now());
    });
}

bool ProgramManager::begin_categories(
    const std::map<std::string, std::vector<engine::model::CategorySample>>& samples,
    const engine::model::Sizes& most) {
    return queue_.ask([&] {
        const engine::model::Now now = manager::run::now();
        for (const auto& [name, of_this] : samples) {
            engine::model::CategorySet what;
            what.samples = of_this;
            categories_.set(name, std::move(what), *manager_, now);
        }
        if (most != engine::model::Sizes{}) categories_.set_max(most, *manager_, now);
    });
}

std::vector<CategorySummary> ProgramManager::categories() {
    std::vector<CategorySummary> all;
    queue_.ask([&] {
        for (manager::status::CategoryOfStatus& one : manager::status::categories_of(*manager_))
            all.push_back(std::move(one.summary));
    });
    return all;
}

std::vector<WorkerSummary> ProgramManager::workers() {
    return answer([&] { return manager::status::summaries_of(*manager_); });
}

bool ProgramManager::monitor(const engine::model::Monitoring& monitoring, const std::string& folder) {
    return queue_.ask([&] {
        recorder_.summarize_to(folder);
        categories_.monitor(monitoring.measures);
        engine::model::Tuned tuned;
        tuned.monitoring = monitoring;
        manager_->ask(tuned, manager::run::now());
    });
}

namespace {

constexpr Duration notice_delay = std::chrono::seconds(10);

}  // namespace

std::optional<Instant> FirstWorkerNotice::print_if_due(const engine::model::ManagerStats& stats, Instant now,
                                                       const std::function<void(const std::string&)>& say) {
    if (how_.empty()) return std::nullopt;
    if (stats.workers_connected > 0) {
        how_.clear();
        return std::nullopt;
    }
    if (stats.tasks_waiting == 0) {
        waits_since_.reset();
        return std::nullopt;
    }
    if (!waits_since_) waits_since_ = now;
    if (now < *waits_since_ + notice_delay) return *waits_since_ + notice_delay;
    say("tasks wait, and no worker is connected; start one: " + how_);
    how_.clear();
    return std::nullopt;
}

// ---- logs: a program may ask for them at its start, or later ----

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
