#include "cli/manager_rank.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "app/background_thread.h"
#include "app/failed_list.h"
#include "app/rank_loop.h"
#include "app/task_index.h"
#include "base/units.h"
#include "cli/listening.h"
#include "cli/plots.h"
#include "cli/run_place.h"
#include "cli/summary.h"
#include "cli/why_questions.h"
#include "stats/append_file.h"
#include "stats/run_status.h"
#include "transport/loopback.h"

namespace wq::cli {

namespace {

constexpr Duration drain_before_end = std::chrono::seconds(60);
constexpr Duration kill_before_end = std::chrono::seconds(10);
constexpr Duration between_statuses = std::chrono::seconds(3);

std::string new_run_id() {
    std::random_device random;
    std::array<char, 33> text{};
    std::snprintf(text.data(), text.size(), "%08x%08x", random(), random());
    return text.data();
}

ProgressLine::Style progress_style(const RunOptions& options) {
    if (options.progress == Progress::never) return ProgressLine::Style::none;
    if (stderr_ends_at_terminal()) return ProgressLine::Style::rewritten;
    return options.progress == Progress::always ? ProgressLine::Style::every_second
                                                : ProgressLine::Style::every_minute;
}

app::RunDeadline deadline(const std::optional<Instant>& job_end, core::Now now) {
    if (!job_end) return {};
    return {std::max(*job_end - drain_before_end, now.instant), drain_before_end - kill_before_end};
}

std::uint32_t expected_workers(const ManagerRank& rank) {
    return static_cast<std::uint32_t>(rank.session.size()) - (rank.options.manager_only ? 1 : 0);
}

// A manager and what it stands on, in the order in which it is taken apart.
class Run {
  public:
    explicit Run(ManagerRank& rank, RunPlace place, app::ListCategories::Foreseen categories)
        : rank_(rank),
          started_(app::now()),
          place_(std::move(place)),
          progress_(progress_style(rank.options), started_.instant),
          tasks_(rank.worker.launcher.working_directory) {
        open_recorder();
        core::ReactorOptions reactor;
        reactor.max_losses = rank.options.max_losses;
        reactor.halt_on_failure = rank.options.halt_on_failure;
        reactor.sets_hosts_aside = !rank.options.keep_hosts;
        reactor.monitoring = rank.options.monitoring;
        reactor.limits_memory = !rank.options.ends_none;
        reactor.expected_workers = expected_workers(rank);
        reactor.seal_batches = rank.tickets != nullptr;
        if (rank.options.listen) listen(reactor);
        app::ManagerOptions options;
        options.reactor = reactor;
        options.ranks = static_cast<std::uint32_t>(rank.session.size());
        options.storage_patience = rank.options.storage_patience;
        options.output_limit = rank.options.output_limit;
        options.directory = rank.worker.launcher.working_directory;
        options.how_to_keep_hosts = "--keep-hosts goes on without that";
        options.index_variable = rank.options.index_variable;
        if (listening_) {
            options.mark_path = listening_->mark().path();
            options.mark = listening_->mark().mark();
            options.background = &files_.emplace();
        }
        options.counters = rank.counters;
        options.earlier_attempts = std::move(place_.earlier.attempts);
        manager_ = std::make_unique<app::Manager>(std::move(options), tasks_, *recorder_, started_);
        if (rank.options.speculate > 0) manager_->copy_stragglers(rank.options.speculate, started_);
        manager_->say = [this](const std::string& text) { progress_.say(text); };
        if (listening_) manager_->expect_strangers(listening_->workers());
        app::SourceOptions source{rank.options.defaults, std::move(place_.earlier), place_.directory.path(),
                                  rank.options.monitoring.measures, std::move(categories)};
        source_ = app::open_source(rank.options.source, std::move(source), tasks_).or_throw();
        if (!rank.options.manager_only) start_own_worker();
    }

    int go() {
        rank_.early_stop.end();  // from here on an end is written to `status`
        write_status("running", std::nullopt, "").or_throw();
        for (const std::string& remark : rank_.remarks) progress_.say(remark);
        if (rank_.options.verbose)
            progress_.say((place_.resumed ? "resuming in " : "running in ") + place_.directory.path() +
                          " with " + count_of(expected_workers(rank_), "worker"));
        app::ManagerLoopParts parts{*manager_, *source_, *recorder_, &rank_.signals};
        if (rank_.ranks != nullptr) parts.wires.push_back(rank_.ranks);
        if (listening_) parts.wires.push_back(&listening_->workers());
        parts.own_end_of_manager = manager_end_.get();
        parts.own_end_of_worker = worker_end_.get();
        parts.files_of_manager = files_ ? &*files_ : nullptr;
        parts.worker = worker_.get();
        parts.launcher = worker_ ? &rank_.launcher : nullptr;
        parts.stop = rank_.stop;
        parts.deadline = deadline(rank_.worker.leaves_at, started_);
        parts.each_turn = [this](Instant at) {
            const core::ManagerStats stats = manager_->stats();
            progress_.update(stats, manager_->reactor().workers(), source_->ended(), at);
            if (listening_)
                listening_->tell({static_cast<std::uint64_t>(stats.tasks_waiting),
                                  static_cast<std::uint64_t>(stats.workers_connected)});
            keep_status(at);
            answer_those_who_ask(at);
            const Instant next = std::min(next_status_, next_look_);
            return std::min(next, progress_.wakeup().value_or(next));
        };
        app::ManagerLoop loop(std::move(parts));
        const Status read = loop.run();
        if (manager_->lost_a_worker()) rank_.session.note_lost_rank();
        return finish(read);
    }

  private:
    void open_recorder() {
        stats::RecorderOptions options;
        options.run_directory = place_.directory.path();
        options.run_id = new_run_id();
        options.list_name = rank_.options.source.name();
        options.source_fingerprint = rank_.options.source.fingerprint();
        options.stats_log = rank_.options.stats_log;
        if (!rank_.options.monitor_output.empty())
            options.summaries = std::filesystem::absolute(rank_.options.monitor_output).string();
        options.categories = {"default"};
        options.failed_run_again = rank_.options.resume_failed;
        std::unique_ptr<app::TaskIndex> listed;
        if (place_.resumed) listed = app::TaskIndex::read(rank_.options.source).or_throw();
        recorder_ = stats::open_recorder(options, listed.get()).or_throw();
    }

    // More workers may come at any time: what none can run now waits for one that can.
    void listen(core::ReactorOptions& reactor) {
        listening_ =
            Listening::open(rank_.options, place_.directory.path(), rank_.worker.launcher.working_directory)
                .or_throw();
        reactor.wait_for_fitting = true;
        reactor.away_limit = rank_.options.away_limit;
        progress_.say(listening_->description());
    }

    void start_own_worker() {
        network_ = std::make_unique<transport::LoopbackNetwork>(2);
        manager_end_ = network_->endpoint(transport::PeerId(0));
        worker_end_ = network_->endpoint(transport::PeerId(1));
        network_->connect(transport::PeerId(0), transport::PeerId(1));
        rank_.worker.hello.takes_tickets = rank_.tickets != nullptr;
        if (rank_.tickets != nullptr) ticket_taker_.emplace(*rank_.tickets, rank_.worker.hello.offers);
        worker_ = std::make_unique<app::Worker>(rank_.worker, *worker_end_, transport::PeerId(0),
                                                rank_.launcher, ticket_taker_ ? &*ticket_taker_ : nullptr);
    }

    // After the recorder is closed, what it could not take does not count as done.
    core::ManagerStats recorded_stats() const {
        core::ManagerStats stats = manager_->stats();
        stats.tasks_done -= static_cast<std::int64_t>(unrecorded_.tasks);
        stats.tasks_failed -= static_cast<std::int64_t>(unrecorded_.failed);
        return stats;
    }

    Status write_status(const std::string& state, std::optional<int> code, const std::string& message) {
        const core::ManagerStats stats = recorded_stats();
        return stats::write_status(
            place_.directory.path(),
            {state, code, started_.wall, code ? wall_now() : 0, static_cast<std::uint64_t>(stats.tasks_done),
             static_cast<std::uint64_t>(stats.tasks_failed), message});
    }

    // For who looks at a run from outside. Where it cannot be written, as on a full disk, the last one stays.
    void keep_status(Instant now) {
        if (now < next_status_) return;
        next_status_ = now + between_statuses;
        static_cast<void>(write_status("running", std::nullopt, ""));
    }

    void answer_those_who_ask(Instant now) {
        if (now < next_look_) return;
        next_look_ = now + between_looks_at_questions;
        answer_questions(place_.directory.path(), *manager_, tasks_, source_->ended(), {now, wall_now()});
    }

    Status write_failed_list() {
        const std::string path = place_.directory.file("failed.sh");
        const IntervalSet& failed = manager_->reactor().ledger().failed();
        if (!failed.empty())
            return stats::write_atomically(
                path,
                app::failed_list(tasks_, failed, manager_->reactor().ledger().count(core::TaskState::skipped),
                                 rank_.options.source.name(), rank_.options.index_variable));
        std::error_code none_there;
        std::filesystem::remove(path, none_there);
        return success();
    }

    int finish(const Status& read) {
        const core::Finished finished = *manager_->finished();
        ExitCode code = finished.code;
        std::string message;
        recorder_->sample({wall_now(), manager_->stats()});
        const Status written = recorder_->close();
        unrecorded_ = recorder_->unrecorded();
        const Status listed = write_failed_list();
        for (const Status* status : {&listed, &read, &written}) {
            if (*status) continue;
            code = status->error().code;
            message = status->error().message;
            progress_.say(message);
        }
        const Instant ended = instant_now();
        progress_.finish(recorded_stats(), ended);

        Summary summary;
        summary.stats = recorded_stats();
        summary.unrecorded = unrecorded_.tasks;
        summary.skipped = manager_->reactor().ledger().count(core::TaskState::skipped);
        summary.stale_reports = manager_->reactor().stale_reports();
        summary.seconds = std::chrono::duration<double>(ended - started_.instant).count();
        summary.code = code;
        summary.stopped = finished.stopped;
        summary.run_directory = place_.directory.path();
        summary.failures = &manager_->failures();
        summary.categories = category_figures(*manager_, rank_.options.monitoring.measures);
        summary.attempts = manager_->attempts_ended();
        summary.outputs_cut = manager_->outputs_cut();
        summary.output_limit = rank_.options.output_limit;
        summary.started = {rank_.command_line, rank_.launched_by};
        const bool quick_end =
            rank_.stop.killed_after_signal && finished.stopped == core::StopReason::interrupted;
        const Status status = write_status(finished.stopped       ? "interrupted"
                                           : code == ExitCode::ok ? "finished"
                                                                  : "failed",
                                           to_int(code), message);
        if (!status) progress_.say(status.error().message);
        if (!quick_end)
            summary.plots = draw_plots(rank_.options.plots, place_.directory.path(), summary.seconds);
        const std::string text = rank_.options.json ? summary_json(summary) : summary_text(summary);
        std::fwrite(text.data(), 1, text.size(), stdout);
        std::fflush(stdout);
        return to_int(code);
    }

    ManagerRank& rank_;
    core::Now started_;
    Instant next_status_ = started_.instant + between_statuses;
    Instant next_look_ = started_.instant + between_looks_at_questions;
    RunPlace place_;
    ProgressLine progress_;
    app::TaskTable tasks_;
    std::unique_ptr<Listening> listening_;
    std::unique_ptr<stats::Recorder> recorder_;
    stats::Recorder::Unrecorded unrecorded_;
    std::unique_ptr<app::Manager> manager_;
    std::optional<app::BackgroundThread> files_;  // ends before the manager, whom it serves
    std::unique_ptr<app::Source> source_;
    std::unique_ptr<transport::LoopbackNetwork> network_;
    std::unique_ptr<transport::Transport> manager_end_;
    std::unique_ptr<transport::Transport> worker_end_;
    std::optional<app::TicketTaker> ticket_taker_;
    std::unique_ptr<app::Worker> worker_;
};

}  // namespace

int ManagerRank::run() {
    auto checked = app::check_source(options.source);
    if (!checked) throw Failure{checked.error()};
    const std::string path =
        choose_run_directory(options, batch_job_id([](const char* name) { return std::getenv(name); }));
    if (const Status log = check_stats_log(options.stats_log); !log) throw Failure{log.error()};
    if (const Status folder = make_summary_folder(options.monitor_output); !folder)
        throw Failure{folder.error()};
    auto place = take_run_place(options, path);
    if (!place) throw Failure{place.error()};
    return Run(*this, std::move(*place), std::move(checked->categories)).go();
}

}  // namespace wq::cli
