// A program's manager behind work_queue/manager.h: the thread that runs the manager's loop, and the two
// queues between it and the program. The caller supplies the links to workers (TCP, ranks, a worker in this
// process).
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "api/factory_settings.h"
#include "api/listening.h"
#include "api/program_recorder.h"
#include "api/program_source.h"
#include "api/queue_status.h"
#include "api/results.h"
#include "api/submitted_tasks.h"
#include "api/tuning.h"
#include "base/background.h"
#include "base/time.h"
#include "engine/model/manager_stats.h"
#include "manager/manager.h"
#include "manager/run/own_worker.h"
#include "manager/run/rank_loop.h"
#include "net/frames/transport.h"
#include "ranks/tickets/sealed_batch.h"
#include "records/logs/program_logs.h"
#include "records/logs/summary_writer.h"
#include "work_queue/statistics.h"
#include "work_queue/task.h"

namespace wq::api {

// Tells the user how to start a worker, once, if tasks have waited for the first one for 10 s: without it, a
// program that nobody gave a worker waits without a word.
class FirstWorkerNotice {
  public:
    // `how` to start a worker; "": workers come by themselves, and nothing is ever said.
    explicit FirstWorkerNotice(std::string how) : how_(std::move(how)) {}
    // Another way, unless it was said or is not needed any more.
    void change(std::string how) {
        if (!how_.empty()) how_ = std::move(how);
    }

    // Returns when to call it again; nullopt: with the next event.
    std::optional<Instant> print_if_due(const engine::model::ManagerStats& stats, Instant now,
                                        const std::function<void(const std::string&)>& say);

  private:
    std::string how_;  // "": it was printed, or is not needed any more
    std::optional<Instant> waits_since_;
};

struct Wire {
    std::unique_ptr<net::frames::Transport> transport;
    bool untrusted = false;  // workers join on their own; nothing they send is trusted
};

struct ProgramManagerOptions {
    std::vector<Wire> wires;
    std::vector<net::frames::Transport*> borrowed_wires;  // they outlive the manager
    std::uint32_t ranks = 0;                              // of the job, including this one; 0: none
    manager::run::OwnWorker* own = nullptr;               // worker of this rank; null: the rank only manages
    bool seal_batches = false;
    ranks::tickets::Counters* counters = nullptr;
    Duration disconnect_limit = std::chrono::seconds(60);
    std::uint64_t output_limit = 8u << 20;
    bool ends_workers = false;                 // workers over TCP end with the manager
    std::string worker;                        // command that starts one, for FirstWorkerNotice
    manager::status::QueueOfStatus described;  // to those who look at the queue
    bool lists = true;                         // the queue to them
    // Takes the queue's record, on the manager's thread; may be empty.
    manager::status::Announcing::Announce announce;
    net::catalog::CatalogHosts catalog;  // for the parameter fetch-factory
    records::logs::LogPaths logs;
    records::logs::SummaryLimits summaries;
    KeepAlive keep_alive;
    std::function<void(const KeepAlive&)> change_keep_alive;          // on the manager's thread; may be empty
    std::function<void(const engine::model::ManagerStats&)> on_turn;  // each turn of the loop; may be empty
    std::function<void(const std::string&)> say;  // called on any thread; must not be empty
};

class ProgramManager {
  public:
    // Error: a log cannot be opened.
    static Result<std::unique_ptr<ProgramManager>> start(ProgramManagerOptions options);
    ~ProgramManager() { end(); }
    ProgramManager(const ProgramManager&) = delete;

    // Kills running tasks and tells the workers.
    void end();
    Result<std::int64_t> submit(Task task);  // its id, from 1
    std::optional<Task> wait(std::optional<Duration> limit, const std::string* tag = nullptr);
    // With the parameter wait-retrieve-many, waits until all tasks have ended. False: some have not yet.
    bool gather(Duration limit);
    bool empty() const { return results_.empty(); }
    TaskState task_state(std::int64_t id);

    std::string why(std::int64_t id);
    std::optional<Task> cancel(std::int64_t id);
    std::optional<Task> cancel_tagged(const std::string& tag);
    std::vector<Task> cancel_category(const std::string* category);  // null: all

    int shut_down(int workers);
    int drain(const std::string& host, bool on);
    void block(const std::string& host, std::int64_t seconds);  // below 1: until unblocked
    void unblock(const std::string* host);                      // null: all
    std::vector<std::string> blocked_hosts();
    // Returns whether fast abort is on for the category.
    bool activate_fast_abort(const std::string& category, double multiplier);

    // The next three return false if the manager has ended. For `mode`, "" means the categories that are not
    // known yet.
    bool set_category(const std::string& name, const engine::model::CategorySet& what);
    // Loads samples of an earlier run, then sets the maximum `most`, if it has any, for all categories known
    // then.
    bool begin_categories(const std::map<std::string, std::vector<engine::model::CategorySample>>& samples,
                          const engine::model::Sizes& most);
    std::vector<CategorySummary> categories();
    std::vector<WorkerSummary> workers();
    // `folder`: for summaries, from summaries_folder(), or "".
    bool monitor(const engine::model::Monitoring& monitoring, const std::string& folder);

    engine::model::ManagerStats stats();
    Statistics statistics();
    Statistics statistics_of(const std::string& category);
    int tasks_wanted();
    // Error: unknown name, or value out of bounds.
    Status tune(const std::string& name, double value);
    // Writes these logs, too. Error: one cannot be opened, or the manager has ended.
    Status log_to(const records::logs::LogPaths& paths);
    void describe(const manager::status::QueueOfStatus& described);
    void ask_catalog(net::catalog::CatalogHosts hosts);  // for fetch-factory
    void list_to_others(bool on);                        // see ProgramManagerOptions::lists
    // Another command that starts a worker, for FirstWorkerNotice.
    void change_worker_command(std::string command);
    // Runs `work` on the manager's thread. False: it has ended.
    bool ask(std::function<void()> work) { return queue_.ask(std::move(work)); }
    bool lost_a_rank() const { return lost_a_rank_; }  // after end()

    // "": the manager's thread serves the program. Otherwise the reason why it ended before end(): then
    // wait() returns the tasks that have ended, after them all others as forsaken, and all other calls fail.
    std::string failure() const { return queue_.failure(); }
    Error ended() const { return {ExitCode::unreachable, queue_.why_closed()}; }

  protected:
    explicit ProgramManager(ProgramManagerOptions options);
    // Opens the logs and starts the manager's thread. Error: a log cannot be opened.
    Status begin();

  private:
    // What `work` returns on the manager's thread; if that has ended, nothing: 0, false, null or an empty
    // list.
    template <class Work>
    auto answer(const Work& work) {
        decltype(work()) of_work{};
        queue_.ask([&] { of_work = work(); });
        return of_work;
    }
    void run();
    void serve();
    void fail(const char* why) noexcept;
    bool set_fast_abort(const std::string& category, double multiplier);
    void apply_tuning(const std::string& name, double value);
    std::optional<Instant> each_turn(Instant now);
    Status open_logs(const records::logs::LogPaths& paths);
    void log_unfinished(records::logs::ProgramLogs& logs);
    void debug(std::string_view subsystem, const std::string& text);
    void write_notes();
    std::unique_ptr<TaskData> cancel_now(TaskData& task);

    ProgramManagerOptions options_;
    // The interval of the time series in logs of statistics.
    static constexpr Duration sample_often = std::chrono::milliseconds(500);

    engine::model::Now started_;
    CommandQueue queue_;
    Results results_;
    Tuning tuning_;

    // ---- the manager's thread, once it runs ----
    SubmittedTasks tasks_;
    std::vector<std::unique_ptr<records::logs::ProgramLogs>> logs_;
    records::logs::SummaryWriter summaries_;
    ProgramRecorder recorder_;
    ProgramCategories categories_;
    FirstWorkerNotice first_worker_;
    FactoryLimits factories_;
    ProgramSource source_;
    UnfinishedTasks unfinished_;
    ProgramQueue status_;
    std::unique_ptr<manager::Manager> manager_;
    std::unique_ptr<BackgroundThread> files_;  // ends before the manager, because it serves the manager
    IntervalSet cancelled_;                    // ids
    bool lost_a_rank_ = false;

    std::mutex figures_mutex_;
    engine::model::ManagerStats published_;  // from the last turn
    std::thread thread_;
};

// How many more tasks a program should submit.
struct WantedLimits {
    double minimum = 10;        // tasks: `hungry-minimum`
    double minimum_factor = 2;  // tasks per worker: `hungry-minimum-factor`
};

// How many tasks to submit so that enough wait for the workers, by the manual's rule of thumb; 0: enough do.
inline std::int64_t tasks_wanted(const engine::model::ManagerStats& stats, const WantedLimits& limits = {}) {
    constexpr double most = 1e15;  // a larger number is no task count
    const double enough =
        std::max(limits.minimum, limits.minimum_factor * static_cast<double>(stats.workers_connected));
    const double lacking = enough - static_cast<double>(stats.tasks_waiting);
    return static_cast<std::int64_t>(std::ceil(std::clamp(lacking, 0.0, most)));
}

}  // namespace wq::api
