#include "programs/run/manager_rank.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <utility>

#include "base/background.h"
#include "base/units.h"
#include "engine/tasklist/settings.h"
#include "manager/manager.h"
#include "manager/report/failed_list.h"
#include "manager/report/live_report.h"
#include "manager/report/summary.h"
#include "manager/run/own_worker.h"
#include "manager/run/source.h"
#include "manager/status/lister.h"
#include "manager/task_table.h"
#include "node/machine/batch_job.h"
#include "programs/run/own_watch.h"
#include "programs/run/plots.h"
#include "programs/run/run_place.h"
#include "programs/run/tcp_workers.h"
#include "records/journal/append_file.h"
#include "records/journal/run_status.h"
#include "shared_list/source/shared_source.h"
#include "shared_list/store/list_place.h"

namespace wq::programs::run {

namespace {

constexpr Duration kill_before_end = std::chrono::seconds(10);

std::string new_run_id() {
    std::random_device random;
    std::array<char, 33> text{};
    std::snprintf(text.data(), text.size(), "%08x%08x", random(), random());
    return text.data();
}

manager::report::ProgressLine::Style progress_style(const RunOptions& options) {
    if (options.progress == Progress::never) return manager::report::ProgressLine::Style::none;
    if (manager::report::stderr_ends_at_terminal()) return manager::report::ProgressLine::Style::rewritten;
    return options.progress == Progress::always ? manager::report::ProgressLine::Style::every_second
                                                : manager::report::ProgressLine::Style::now_and_then;
}

manager::run::RunDeadline deadline(const std::optional<Instant>& job_end, engine::model::Now now) {
    if (!job_end) return {};
    return {std::max(*job_end - manager::run::drain_before_end, now.instant),
            manager::run::drain_before_end - kill_before_end};
}

std::uint32_t expected_workers(const ManagerRank& rank) {
    return static_cast<std::uint32_t>(rank.session.size()) - (rank.options.manager_only ? 1 : 0);
}

bool is_of_shared_list(const ManagerRank& rank) {
    return rank.options.source.kind == manager::run::SourceSpec::Kind::shared;
}

// What those who look at a run see of its tasks: lines of the list by their number, items of an array by
// their index.
class RunQueue final : public manager::status::Queue {
  public:
    // All outlive it.
    RunQueue(manager::status::QueueOfStatus described, const manager::Manager& manager,
             const manager::TaskTable& tasks, engine::model::Now started)
        : described_(std::move(described)), manager_(manager), tasks_(tasks), started_(started) {}

    manager::status::QueueOfStatus described() const override { return described_; }
    engine::model::ManagerStats stats() const override;
    std::optional<manager::status::TaskOfStatus> task(TaskId task) const override;

  private:
    const manager::status::QueueOfStatus described_;
    const manager::Manager& manager_;
    const manager::TaskTable& tasks_;
    const engine::model::Now started_;
};

engine::model::ManagerStats RunQueue::stats() const {
    engine::model::ManagerStats stats = manager_.stats();
    stats.time_when_started = started_.wall;
    return stats;
}

std::optional<manager::status::TaskOfStatus> RunQueue::task(TaskId task) const {
    manager::status::TaskOfStatus named;
    const std::uint64_t line = tasks_.line(task);
    named.id = static_cast<std::int64_t>(line > 0 ? line : tasks_.key(task).value);
    named.command = tasks_.command(task);
    named.tag = tasks_.tags(task);
    return named;
}

// Opens the source of `--shared-list`. `ranks`: how many will be workers. `say`: see
// shared_list::source::SharedSource. Error usage: the list's place makes no sense.
Result<std::unique_ptr<shared_list::source::SharedSource>> open_shared_list(
    const RunOptions& options, std::size_t ranks, manager::TaskTable& tasks,
    std::function<void(const std::string&)> say) {
    const char* const master = std::getenv("MASTER_SERVER");
    auto place = shared_list::store::list_place(options.source.path, master == nullptr ? "" : master);
    if (!place) return place.error();
    shared_list::source::DispatcherOptions dispatcher;
    dispatcher.place = std::move(*place);
    dispatcher.once = options.shared.once;
    dispatcher.waits_for_workers = options.listen.has_value();
    dispatcher.expected_seats = ranks;
    dispatcher.poll = options.shared.poll;
    dispatcher.lease = options.shared.lease;
    engine::model::Shape shape;
    shape.needs = options.defaults.needs;
    if (shape.needs.cores < 0) shape.needs.cores = 1;
    shape.timeout = options.defaults.timeout;
    shape.retries = options.defaults.retries;
    if (options.defaults.keeps_batch_environment) {
        engine::tasklist::Settings settings;
        if (const Status set = engine::tasklist::apply_settings("batch-environment=keep", settings); !set)
            return set.error();
        tasks.add_settings(settings);
    }
    return std::make_unique<shared_list::source::SharedSource>(std::move(dispatcher), std::move(shape), tasks,
                                                               std::move(say));
}

engine::policies::ReactorOptions reactor_options(const ManagerRank& rank) {
    engine::policies::ReactorOptions reactor;
    reactor.max_losses = rank.options.max_losses;
    reactor.halt_on_failure = rank.options.halt_on_failure;
    reactor.excludes_failing_hosts = !rank.options.keep_hosts;
    reactor.monitoring = rank.options.monitoring;
    reactor.limits_memory = !rank.options.ends_none;
    reactor.expected_workers = expected_workers(rank);
    reactor.most_running = rank.options.jobs;
    reactor.seal_batches = rank.tickets != nullptr && rank.options.jobs == 0;  // ranks do not know the limit
    // A task that fits no worker waits if more workers may join at any time. So does a line of a shared list:
    // it is for one worker, and the list's dispatcher takes it back when that worker leaves.
    reactor.wait_for_fitting = rank.options.listen || is_of_shared_list(rank);
    return reactor;
}

// A part of each run, which is of a type of its own in a run of a shared list.
template <class Any, class OfSharedList>
class Part {
  public:
    void set(std::unique_ptr<Any> part) {
        of_shared_list_ = nullptr;
        owned_ = std::move(part);
    }
    void set_of_shared_list(std::unique_ptr<OfSharedList> part) {
        of_shared_list_ = part.get();
        owned_ = std::move(part);
    }
    Any& operator*() const { return *owned_; }
    Any* operator->() const { return owned_.get(); }
    OfSharedList* of_shared_list() const { return of_shared_list_; }  // null: there is no such list

  private:
    std::unique_ptr<Any> owned_;
    OfSharedList* of_shared_list_ = nullptr;
};

// What a run that listens tells those who look at it. The manager uses it until its own end.
class Shown {
  public:
    // All outlive it, but for the manager, which it does not use after the run.
    Shown(Listening& listening, manager::Manager& manager, const manager::TaskTable& tasks,
          engine::model::Now started)
        : listening_(listening),
          manager_(manager),
          queue_(listening.described(), manager, tasks, started),
          lister_(manager, queue_),
          announcing_(lister_, [this](const std::function<std::string()>& record) {
              listening_.announce(record);
              return true;
          }) {}

    manager::status::Lister& lister() { return lister_; }
    // Returns when to call it next.
    std::optional<Instant> publish(Instant now) {
        const engine::model::ManagerStats stats = manager::brief_stats(manager_.reactor());
        listening_.publish_load({static_cast<std::uint64_t>(stats.tasks_waiting),
                                 static_cast<std::uint64_t>(stats.workers_connected)});
        return announcing_.announce_if_due(stats, now);
    }

  private:
    Listening& listening_;
    manager::Manager& manager_;
    RunQueue queue_;
    manager::status::Lister lister_;
    manager::status::Announcing announcing_;
};

// A manager and its parts: open() and end() tell the order in which they begin and end. What others use until
// the end is declared before them.
class Run {
  public:
    Run(ManagerRank& rank, RunPlace place)
        : rank_(rank),
          started_(manager::run::now()),
          place_(std::move(place)),
          progress_(progress_style(rank.options), started_.instant),
          tasks_(rank.worker.launcher.working_directory) {}

    // Before run_list(). Throws Failure.
    void open(manager::run::ListCategories::Foreseen categories) {
        open_recorder();
        if (rank_.options.listen) listen();
        make_manager();
        if (listening_) be_looked_at();
        open_source(std::move(categories));
        if (!rank_.options.manager_only) own_worker_.emplace(rank_.worker, rank_.launcher, rank_.tickets);
    }

    int run_list() {
        rank_.early_stop.end();  // from here on, the end of the run is written to `status`
        write_status(status("running", std::nullopt, "")).or_throw();
        for (const std::string& remark : rank_.remarks) progress_.print_line(remark);
        if (rank_.options.name.empty())
            noted_ = net::contact::note_run(net::contact::registry_folder(),
                                            std::filesystem::absolute(place_.directory.path()).string());
        if (rank_.options.grow) grow();
        if (rank_.options.verbose)
            progress_.print_line((place_.resumed ? "resuming in " : "running in ") + place_.directory.path() +
                                 " with " + count_of(expected_workers(rank_), "worker"));
        if (rank_.options.watch) watch();
        manager::run::ManagerLoop loop(loop_parts());
        return end(loop.run());
    }

  private:
    // What ended the run, and how it counts.
    struct Outcome {
        engine::model::Finished finished;
        ExitCode code = ExitCode::ok;
        std::string message;  // for `status`
    };

    manager::run::ManagerLoopParts loop_parts() {
        manager::run::ManagerLoopParts parts{*manager_, *source_, *recorder_, &rank_.signals};
        if (rank_.ranks != nullptr) parts.wires.push_back(rank_.ranks);
        if (listening_) parts.wires.push_back(&listening_->workers());
        parts.own_worker = own_worker_ ? &*own_worker_ : nullptr;
        parts.files_of_manager = files_ ? &*files_ : nullptr;
        parts.stop = rank_.stop;
        parts.deadline = deadline(rank_.worker.leaves_at, started_);
        parts.each_turn = [this](Instant at) { return report(at); };
        parts.others = &*live_files_;
        return parts;
    }

    void watch() {
        if (const Status started = watch_.start(place_.directory.path()); started)
            progress_.hold();
        else
            progress_.print_line(started.error().message);
    }

    // Returns when to call it next.
    Instant report(Instant at) {
        if (rank_.options.watch && !watch_.has_terminal()) progress_.release();
        if (const auto due = progress_.wakeup(); due && at >= *due)
            progress_.update(manager_->stats(),
                             source_->ended() ? manager::report::Total::known : manager::report::Total::grows,
                             manager_->records().attempts_ended(), progress_details(at), at);
        if (growth_) look_at_growth();
        std::optional<Instant> next_publication;
        if (listening_) {
            for (const std::string& news : listening_->take_news(rank_.options.verbose))
                progress_.print_line(news);
            next_publication = shown_->publish(at);
        }
        live_report_.tick({at, wall_now()});
        const Instant next = std::min(live_report_.wakeup(), next_publication.value_or(Instant::max()));
        return std::min(next, progress_.wakeup().value_or(next));
    }

    // `read`: how the reading of the source has ended. Returns the exit code.
    int end(const Status& read) {
        if (growth_) growth_->begin_end();
        live_files_.reset();  // from here on, this thread writes `status`
        if (manager_->lost_a_rank()) rank_.session.note_lost_rank();
        const int code = finish(read);
        // Last, as the batch system may end this job meanwhile: the factory goes on without us.
        if (growth_) growth_->end([this](const std::string& text) { progress_.print_line(text); });
        return code;
    }

    std::vector<std::string> progress_details(Instant now) const {
        const engine::model::WorkerTable& workers = manager_->reactor().workers();
        std::vector<std::string> details{manager::report::disconnected_text(workers, now)};
        if (listening_) details.push_back(manager::report::workers_text(workers));
        if (growth_) details.push_back(growth_->text());
        return details;
    }

    void open_recorder() {
        records::recorder::RecorderOptions options;
        options.run_directory = place_.directory.path();
        options.run_id = new_run_id();
        options.list_name = rank_.options.source.name();
        options.source_fingerprint = rank_.options.source.fingerprint();
        options.stats_log = rank_.options.stats_log;
        if (!rank_.options.monitor_output.empty())
            options.summaries = std::filesystem::absolute(rank_.options.monitor_output).string();
        options.categories = {"default"};
        options.failed_run_again = rank_.options.resume_failed;
        std::unique_ptr<manager::run::TaskIndex> listed;
        if (place_.resumed) listed = manager::run::TaskIndex::read(rank_.options.source).or_throw();
        auto recorder = records::recorder::open_recorder(options, listed.get()).or_throw();
        if (is_of_shared_list(rank_))
            recorder_.set_of_shared_list(
                std::make_unique<shared_list::source::MarkingRecorder>(std::move(recorder)));
        else
            recorder_.set(std::move(recorder));
    }

    void listen() {
        listening_ =
            Listening::open(rank_.options, place_.directory.path(), rank_.worker.launcher.working_directory)
                .or_throw();
        progress_.print_line(listening_->description());
    }

    void make_manager() {
        manager::ManagerOptions options;
        options.reactor = reactor_options(rank_);
        options.disconnect_limit = rank_.options.disconnect_limit;
        options.ranks = static_cast<std::uint32_t>(rank_.session.size());
        options.storage_retry_limit = rank_.options.storage_retry_limit;
        options.output_limit = rank_.options.output_limit;
        options.directory = rank_.worker.launcher.working_directory;
        options.how_to_keep_hosts = "--keep-hosts prevents this";
        options.index_variable = rank_.options.index_variable;
        if (listening_) {
            options.mark_path = listening_->mark().path();
            options.mark = listening_->mark().mark();
            options.background = &files_.emplace();
        }
        options.counters = rank_.counters;
        options.earlier_attempts = std::move(place_.earlier.attempts);
        manager_ = std::make_unique<manager::Manager>(std::move(options), tasks_, *recorder_, started_);
        if (rank_.options.speculate > 0)
            manager_->ask(engine::model::Tuned{{}, {}, rank_.options.speculate}, started_);
        manager_->say = [this](const std::string& text) { progress_.print_line(text); };
    }

    void be_looked_at() {
        manager_->expect_tcp_workers(listening_->workers());
        shown_.emplace(*listening_, *manager_, tasks_, started_);
        manager_->list_by(&shown_->lister());
    }

    void open_source(manager::run::ListCategories::Foreseen categories) {
        if (!is_of_shared_list(rank_)) {
            manager::run::SourceOptions options{rank_.options.defaults, std::move(place_.earlier),
                                                place_.directory.path(), rank_.options.monitoring.measures,
                                                std::move(categories)};
            source_.set(
                manager::run::open_source(rank_.options.source, std::move(options), tasks_).or_throw());
            return;
        }
        source_.set_of_shared_list(
            open_shared_list(rank_.options, expected_workers(rank_), tasks_, [this](const std::string& text) {
                progress_.print_line(text);
            }).or_throw());
        recorder_.of_shared_list()->set_source(source_.of_shared_list());
    }

    void grow() {
        growth_.emplace(
            Growth::start(*rank_.options.grow, place_.directory.path(), listening_->contact_path())
                .or_throw());
    }

    void look_at_growth() {
        growth_->handle_reports([this](const std::string& text) { progress_.print_line(text); },
                                manager::brief_stats(manager_->reactor()).workers_connected);
        if (const auto& report = growth_->report())
            manager_->note_growth(report->decision.wanted, growth_->pending());
    }

    // After the recorder is closed, results that it could not write do not count as done.
    engine::model::ManagerStats recorded_stats() const {
        engine::model::ManagerStats stats = manager_->stats();
        stats.tasks_done -= static_cast<std::int64_t>(unrecorded_.tasks);
        stats.tasks_failed -= static_cast<std::int64_t>(unrecorded_.failed);
        return stats;
    }

    records::journal::RunStatus status(const std::string& state, std::optional<int> code,
                                       const std::string& message) const {
        records::journal::RunStatus status;
        status.state = state;
        status.exit_code = code;
        status.started_us = started_.wall;
        status.ended_us = code ? wall_now() : 0;
        status.tasks = recorded_stats();
        status.total_known = source_->ended();
        status.message = message;
        return status;
    }

    Status write_status(const records::journal::RunStatus& status) {
        return records::journal::write_status(place_.directory.path(), status);
    }

    manager::report::LiveReport::Content live_content() {
        return {[this] {
                    records::journal::RunStatus now = status("running", std::nullopt, "");
                    const std::uint64_t ended = manager_->records().attempts_ended();
                    now.tasks_per_second = rate_.update(ended, instant_now());
                    manager_->note_rate(started_.wall, now.tasks_per_second);
                    return now;
                },
                [this](std::uint64_t line, engine::model::Now now) {
                    const std::string why =
                        manager::report::why_line(*manager_, tasks_, source_->ended(), line, now);
                    const std::string coming = growth_ ? growth_->text() : "";
                    const bool waits = why.find(": not now: ") != std::string::npos;
                    return waits && !coming.empty() ? why + "; " + coming : why;
                }};
    }

    // A line that failed here may have succeeded on another worker: the list says it.
    Status close_shared_list(Outcome& outcome) {
        shared_list::source::SharedSource* const shared = source_.of_shared_list();
        if (shared == nullptr) return success();
        // Those that ended the run: mpirun passes on what the terminal has sent, too.
        while (rank_.signals.next()) continue;
        const auto failed = shared->close([this] { return rank_.signals.next().has_value(); });
        if (!failed) return failed.error();
        if (!outcome.finished.stopped &&
            (outcome.code == ExitCode::ok || outcome.code == ExitCode::tasks_failed))
            outcome.code = *failed ? ExitCode::tasks_failed : ExitCode::ok;
        return success();
    }

    Status write_failed_list() {
        if (is_of_shared_list(rank_)) return success();
        const std::string path = place_.directory.file("failed.sh");
        const IntervalSet& failed = manager_->reactor().ledger().failed();
        if (!failed.empty())
            return records::journal::write_atomically(
                path,
                manager::report::failed_list(
                    tasks_, failed, manager_->reactor().ledger().count(engine::model::TaskState::skipped),
                    rank_.options.source.name(), rank_.options.index_variable));
        std::error_code none_there;
        std::filesystem::remove(path, none_there);
        return success();
    }

    // Closes the records, and writes the lists that tell what is left to do. What fails there, or has failed
    // in the reading of the source, decides how the run counts.
    Outcome close_records(const Status& read) {
        Outcome outcome{*manager_->finished(), manager_->finished()->code, {}};
        recorder_->sample({wall_now(), manager_->stats()});
        const Status written = recorder_->close();
        unrecorded_ = recorder_->unrecorded();
        const Status listed = write_failed_list();
        const Status never =
            manager::report::write_never_ran(place_.directory.path(), manager_->records().failures());
        const Status marked = close_shared_list(outcome);
        for (const Status* status : {&listed, &never, &marked, &read, &written}) {
            if (*status) continue;
            outcome.code = status->error().code;
            outcome.message = status->error().message;
            progress_.print_line(outcome.message);
        }
        if (outcome.message.empty() && outcome.finished.stopped)
            outcome.message = manager::report::name_of(*outcome.finished.stopped);
        return outcome;
    }

    manager::report::Summary summarize(const Outcome& outcome, Instant ended) const {
        manager::report::Summary summary;
        summary.stats = recorded_stats();
        summary.unrecorded = unrecorded_.tasks;
        summary.skipped = manager_->reactor().ledger().count(engine::model::TaskState::skipped);
        summary.stale_reports = manager_->reactor().stale_reports();
        summary.seconds = std::chrono::duration<double>(ended - started_.instant).count();
        summary.code = outcome.code;
        summary.stopped = outcome.finished.stopped;
        summary.run_directory = place_.directory.path();
        if (const auto* shared = source_.of_shared_list()) summary.shared_list = shared->name();
        summary.failures = &manager_->records().failures();
        summary.categories = manager::report::category_figures(*manager_, rank_.options.monitoring.measures);
        summary.succeeded_earlier = manager_->records().succeeded_earlier();
        summary.attempts = manager_->records().attempts_ended();
        summary.outputs_truncated = manager_->records().outputs_truncated();
        summary.output_limit = rank_.options.output_limit;
        summary.started = {rank_.command_line, rank_.launched_by,
                           node::machine::in_job_script(node::machine::batch_environment())};
        return summary;
    }

    void write_end(const Outcome& outcome) {
        const auto& stopped = outcome.finished.stopped;
        const bool halted = stopped == engine::model::StopReason::halted;
        const std::string state = stopped && !halted             ? "interrupted"
                                  : outcome.code == ExitCode::ok ? "finished"
                                                                 : "failed";
        if (const Status told = write_status(status(state, to_int(outcome.code), outcome.message)); !told)
            progress_.print_line(told.error().message);
    }

    int finish(const Status& read) {
        watch_.end();
        progress_.release();
        const Outcome outcome = close_records(read);
        const Instant ended = instant_now();
        progress_.finish(recorded_stats(), manager_->records().attempts_ended(), ended);
        manager::report::Summary summary = summarize(outcome, ended);
        write_end(outcome);
        const bool quick_end = rank_.stop.killed_after_signal &&
                               outcome.finished.stopped == engine::model::StopReason::interrupted;
        if (!quick_end && are_wanted(rank_.options.plots, summary.seconds)) {
            summary.plots = draw_plots(place_.directory.path());
            summary.report = write_report(place_.directory.path());
        }
        const std::string text = rank_.options.json ? manager::report::summary_json(summary)
                                                    : manager::report::summary_text(summary);
        std::fwrite(text.data(), 1, text.size(), stdout);
        std::fflush(stdout);
        return to_int(outcome.code);
    }

    ManagerRank& rank_;
    engine::model::Now started_;
    RunPlace place_;
    manager::report::ProgressLine progress_;
    OwnWatch watch_;
    manager::report::RecentRate rate_{started_.instant};  // for those who ask from elsewhere
    manager::TaskTable tasks_;
    std::unique_ptr<Listening> listening_;
    std::optional<Shown> shown_;                         // if it listens
    std::unique_ptr<net::contact::RepeatedWork> noted_;  // if it has no name
    std::optional<Growth> growth_;
    Part<records::recorder::Recorder, shared_list::source::MarkingRecorder> recorder_;
    records::recorder::Recorder::Unrecorded unrecorded_;
    std::unique_ptr<manager::Manager> manager_;
    std::optional<BackgroundThread> files_;  // ends before the manager, because it serves the manager
    Part<manager::run::Source, shared_list::source::SharedSource> source_;
    std::optional<manager::run::OwnWorker> own_worker_;
    std::optional<BackgroundThread> live_files_{std::in_place};
    manager::report::LiveReport live_report_{*live_files_, place_.directory.path(), live_content(),
                                             started_.instant};
};

}  // namespace

int ManagerRank::run() {
    auto checked = manager::run::check_source(options.source);
    if (!checked) throw Failure{checked.error()};
    if (options.grow)
        if (const Status taken = check(*options.grow); !taken) throw Failure{taken.error()};
    const std::string job = node::machine::batch_job(node::machine::batch_environment());
    std::string path = choose_run_directory(options, job);
    if (const Status log = check_stats_log(options.stats_log); !log) throw Failure{log.error()};
    if (const Status folder = make_summary_folder(options.monitor_output); !folder)
        throw Failure{folder.error()};
    auto place = take_run_place(options, path);
    // Another run may have taken the free name at the same moment.
    while (!place && is_of_a_run(path)) {
        const std::string taken = std::exchange(path, choose_run_directory(options, job));
        if (path == taken) break;
        place = take_run_place(options, path);
    }
    if (!place) throw Failure{place.error()};
    Run run(*this, std::move(*place));
    run.open(std::move(checked->categories));
    return run.run_list();
}

}  // namespace wq::programs::run
