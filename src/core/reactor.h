// The manager's mind: every decision of a run, deterministic, without a clock, a wire or a file. Events go
// in, actions come out. Costs are per event: nothing here scans all tasks or all workers, but for departures
// and stops.
//
// Attempts: a task's first lease is attempt 1; every lease after it, for whatever reason, one more. A report
// that names another attempt than the present one, or comes from a worker that does not hold it, is stale:
// counted, and no more.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/batches.h"
#include "core/category.h"
#include "core/events.h"
#include "core/groups.h"
#include "core/host_blocks.h"
#include "core/host_watch.h"
#include "core/ledger.h"
#include "core/manager_stats.h"
#include "core/pace.h"
#include "core/worker_table.h"

namespace wq::core {

struct ReactorOptions {
    // A task lost with its worker so often has failed, where it has no limit of its own; 0: none ever has.
    std::uint32_t max_losses = 3;
    bool halt_on_failure = false;                 // the first final failure stops the run
    Duration silence = std::chrono::seconds(10);  // a worker not heard for so long is lost
    // The pool is complete when so many have joined, or after join_limit. 0: it is never complete, any worker
    // may come at any time, and there is no waiting for it.
    std::uint32_t expected_workers = 1;
    Duration join_limit = std::chrono::seconds(10);
    Duration rejoin_limit{0};  // a worker that left may be back within so long: until then its tasks wait
    Duration away_limit{0};    // a worker whose link was cut may be back within so long, with its leases
    // What no worker can hold waits for one that can, and so does a run without workers, although the pool is
    // complete: as the tasks of a program, whose workers come and go.
    bool wait_for_fitting = false;
    std::uint32_t hold_until_workers = 0;  // nothing is given out before so many were there at once
    bool sets_hosts_aside = true;          // those that fail what succeeds elsewhere
    bool seal_batches = false;             // use tickets where tasks of one shape abound
    AllocationRules allocation{};          // of a worker, to a task
    bool limits_memory = true;             // a task that says how much it needs is ended beyond that
    Monitoring monitoring{};
    // Where tasks are held to what they are given, and fewer wait than there are workers: all that is free.
    bool ramps_down = false;
    // A worker may hold so many times what it has: what does not run yet waits there.
    double submit_multiplier = 1;
    Duration kill_limit = std::chrono::milliseconds(500);  // after killing, wait so long for the reports
};

// "feature a, function 'b'": for messages.
std::string describe(const std::vector<std::string>& features);

class Reactor {
  public:
    Reactor(ReactorOptions options, Now started);

    void on(const Event& event, Now now, std::vector<Action>& actions);

    // When a Tick is due; nothing: not before another event.
    std::optional<Instant> wakeup() const;

    bool finished() const { return finished_; }
    const Ledger& ledger() const { return ledger_; }
    const WorkerTable& workers() const { return workers_; }
    const HostBlocks& blocked_hosts() const { return blocks_; }
    std::uint64_t stale_reports() const { return stale_; }
    // At workers, for a task: what it costs to give tasks out.
    std::uint64_t looks() const { return looks_; }
    bool fast_abort(CategoryId category) const { return pace_.multiplier(category).has_value(); }
    bool stopping() const { return stop_.has_value(); }
    // Whether it may run something: leases, or tickets of which it has yet to give account.
    bool may_run(const Worker& worker) const { return !worker.leases.empty() || may_claim(worker); }
    // Whether it was too slow on the worker's host, and waits for another one.
    bool avoids(TaskId task, const Worker& worker) const;

    // What is known of a category, and how many of the workers that are here hold the largest of its tasks.
    // null: nothing was said of it or of its tasks.
    const Category* category(CategoryId category) const;
    std::int64_t able_workers(CategoryId category) const;

    // Counters of the manual's table that the core knows; times of the manager itself are added by app/.
    ManagerStats stats() const;
    // Of the tasks of one category; what is said of workers and of the manager is that of the whole.
    ManagerStats stats(CategoryId category) const;

    // What the run waits for, in one line: for a user who wonders why nothing happens.
    std::string waiting_for() const;

    // Why it does not run, or where it does, in one line: "not now: ..." where time or other tasks are in the
    // way, "not before a larger worker comes: ..." where no worker that is here can hold it, "never: ...".
    std::string why(TaskId task, Now now) const;

    // The first contradiction among all indexes, recomputed from scratch. For tests.
    std::optional<std::string> audit() const;

  private:
    using Actions = std::vector<Action>;
    // Leases that wait are recalled when another worker has stood idle for so long.
    static constexpr Duration first_recall_pause = std::chrono::milliseconds(50);
    // What no worker can hold is told when none has come for so long, as one that can may be about to; and at
    // the latest after the second.
    static constexpr Duration time_to_grow = std::chrono::seconds(5);
    static constexpr Duration longest_growth = std::chrono::minutes(1);
    static constexpr std::size_t most_functions_seen = 100'000;
    struct Stop {
        StopReason reason;
        Instant kill_at;
        bool killed = false;
    };
    struct ShapeState {
        double mean_wall_us = -1;      // of attempts that ended, weighted towards the recent; -1: none yet
        bool told_waiting = false;     // that no worker can hold it
        std::optional<AlikeId> alike;  // once it was asked for
        std::uint64_t misfit = 0;      // pool version in which some rank was too small for it
        std::uint64_t passed_over =
            0;  // leases of later shapes, on workers large enough for it, while it waited
    };
    struct CategoryState {
        Category category{""};
        std::vector<ShapeId> shapes;
        bool full = false;  // as many run as may
    };
    struct Reservation {  // a worker kept free for a task that would wait too long
        WorkerId worker;
        ShapeId shape;
        bool suspect = false;
    };

    // reactor_source.cpp
    void on_event(const TasksAdded& event, Now now, Actions& actions);
    void on_event(const BarrierAdded& event, Now now, Actions& actions);
    void on_event(const InputEnded& event, Now now, Actions& actions);
    void apply(const GroupChange& change, Actions& actions);

    // reactor_categories.cpp
    void on_event(const CategorySet& event, Now now, Actions& actions);
    CategoryState& state_of(CategoryId category);
    CategoryState& state_of_category(ShapeId shape) { return state_of(ledger_.shape(shape).category); }
    void note_shapes();
    CategoryRequest request_of(const Shape& shape, const Category& category) const;
    Ask ask_of(const Shape& shape, const Category& category) const;
    const Ask& asked(ShapeId shape) const { return asked_[shape.value()]; }
    void ask_anew(CategoryId category, Actions& actions);
    bool asks_otherwise(const CategoryState& state) const;
    void ask_anew_of_automatic(Actions& actions);
    void awaken(const CategoryState& state);
    void learn_sizes(TaskId task, const Outcome& outcome, Actions& actions);
    std::optional<Shape> asks_for_more(TaskId task, const Outcome& outcome);
    std::string beyond_its_maximum(TaskId task, const Outcome& outcome) const;
    bool has_room(const Shape& shape) const;
    void awaken_those_with_room();
    void note_full();
    Watch watch_of(ShapeId shape, const Resources& given) const;

    // reactor_workers.cpp
    void on_event(const WorkerJoined& event, Now now, Actions& actions);
    void on_event(const WorkerHeard& event, Now now, Actions& actions);
    void on_event(const WorkerLeft& event, Now now, Actions& actions);
    void remove_worker(Worker& worker, const std::string& why, bool lost, Now now, Actions& actions);
    void drop_silent_workers(Now now, Actions& actions);

    // reactor_links.cpp
    void on_event(const WorkerAway& event, Now now, Actions& actions);
    void on_event(const WorkerBack& event, Now now, Actions& actions);
    void on_event(const WorkerDraining& event, Now now, Actions& actions);
    void drop_those_away_too_long(Now now, Actions& actions);
    void gets_no_more(const Worker& worker);
    void gets_tasks(const Worker& worker);
    bool may_claim(const Worker& worker) const;  // tickets of the open batch
    void catch_up_with_stop(const Worker& worker, Actions& actions);

    // reactor_cancel.cpp
    void on_event(const CancelRequested& event, Now now, Actions& actions);
    void cancel_tickets(Interval tasks, Actions& actions);
    void cancel_attempted(TaskId task, Actions& actions);
    void tell_to_kill(WorkerId worker, Interval tasks, Attempt attempt, Actions& actions) const;

    // reactor_reports.cpp
    void on_event(const TaskReported& event, Now now, Actions& actions);
    void on_event(const TaskGivenBack& event, Now now, Actions& actions);
    void give_back(TaskId task, Actions& actions);
    bool holds(WorkerId worker, TaskId task, Attempt attempt) const;
    void answered_recall(WorkerId worker);
    void take_ticket_back(WorkerId worker, TaskId task, WallMicros started);
    void try_with_more(TaskId task, Shape larger, Outcome outcome, Now now, Actions& actions);
    void settle(TaskId task, const Outcome& outcome, Now now, Actions& actions);
    template <class F>
    void count_for(TaskId task, F&& add);
    void lose(TaskId task, const std::string& why, bool blame, Now now, Actions& actions);
    void try_again(TaskId task, TaskEvent event, Outcome outcome, Now now, Actions& actions);
    void record(TaskId task, bool final, Outcome outcome, Actions& actions);
    void finish(TaskId task, bool success, Now now, Actions& actions);
    void end_in_failure(TaskId task, Now now, Actions& actions);
    void learn(ShapeId shape, double wall_us);
    void free_lease(TaskId task);

    // reactor_ranges.cpp
    void on_event(const RangeReported& event, Now now, Actions& actions);
    using Ended = std::map<std::pair<ShapeId, Resources>, IntervalSet>;  // of a shape, given so much
    Ended end_all(const RangeReported& event, Actions& actions);

    // reactor_batches.cpp
    void on_event(const TicketsReported& event, Now now, Actions& actions);
    void account(Worker& worker, const IntervalSet& holding, Now now, Actions& actions);
    void seal_where_tasks_abound(Now now, Actions& actions);
    IntervalSet sealable(ShapeId shape);
    bool fits_whole_pool(ShapeId shape);
    void seal(ShapeId shape, IntervalSet tasks, Now now, Actions& actions);
    void revoke(Actions& actions);
    void adopt(Worker& worker, TaskId task, Now now);
    bool has_more_urgent_tickets(const Worker& worker, double priority) const;
    void reconcile(Now now, Actions& actions);
    void lose_ticket(TaskId task, Now now, Actions& actions);
    void close_batch_if_over(Actions& actions);

    // reactor_slow.cpp
    void on_event(const FastAbortSet& event, Now now, Actions& actions);
    void watch_pace(TaskId task, Attempted& attempted);
    void unwatch_pace(TaskId task, Attempted& attempted);
    void look_again(TaskId task, Attempted& attempted, Instant at);
    void end_what_is_slow(Now now, Actions& actions);
    void end_slow(TaskId task, Now now, Actions& actions);
    void tell_again_to_end(TaskId task, Now now, Actions& actions);
    void abort_attempt(TaskId task, Outcome outcome, Now now, Actions& actions);
    std::optional<Instant> next_slow() const;
    void learn_pace(TaskId task, const Outcome& outcome, Now now);
    std::optional<std::string> audit_pace() const;

    // reactor_avoid.cpp
    void avoid(TaskId task, const std::string& host, Instant until);
    void stop_avoiding(TaskId task);
    void stop_avoiding(Interval tasks);
    void end_what_was_avoided_long_enough(Now now);
    std::optional<TaskId> first_for(const IntervalSet& tasks, const Worker& worker) const;
    std::optional<ReadyHead> next_for(ShapeId shape, const Worker& worker) const;
    std::optional<TaskId> next_suspect_for(ShapeId shape, const Worker& worker) const;
    bool has_one_for(ShapeId shape, bool suspect, const Worker& worker) const;
    std::optional<std::string> audit_avoided() const;

    // reactor_copies.cpp
    struct Copy {
        WorkerId worker;
        Attempt attempt = 0;
        Resources given;
        Instant since;
        WallMicros dispatched_us = 0;
    };
    void watch_for_copies(double multiplier);
    void watch_for_copy(TaskId task, Attempted& attempted);
    void stop_watching_for_copy(TaskId task, Attempted& attempted);
    bool nothing_waits() const;
    void copy_stragglers(Now now, Actions& actions);
    std::optional<Instant> next_copy() const;
    Worker* idle_elsewhere(TaskId task, Now now);
    void copy(TaskId task, Worker& worker, Now now, Actions& actions);
    const Copy* copy_at(WorkerId worker, TaskId task) const;
    bool is_copy(WorkerId worker, TaskId task, Attempt attempt) const;
    void on_copy_reported(const TaskReported& event, Now now, Actions& actions);
    void take_copy(TaskId task);
    bool copy_has(const Ask& ask, TaskId task) const;
    void drop_copy(TaskId task, bool kill, Actions& actions);
    void go_on_with_copy(TaskId task, Actions& actions);
    std::optional<std::string> audit_copies() const;

    // reactor_hosts.cpp
    void on_event(const HostBlocked& event, Now now, Actions& actions);
    void on_event(const HostUnblocked& event, Now now, Actions& actions);
    std::vector<WorkerId> workers_of(const std::string& host) const;
    void block(const std::string& host, const HostBlock& block, Actions& actions);
    void unblock(const std::string& host);
    void unblock_what_is_over(Now now, Actions& actions);
    void release_the_last_hosts(Actions& actions);
    void release_whoever_holds(ShapeId shape, Actions& actions);
    void release_those_set_aside(Actions& actions);
    void release(const std::string& host, Actions& actions);
    std::vector<std::string> set_aside_here() const;
    bool host_holds(const std::string& host, ShapeId shape) const;
    bool some_host_holds(ShapeId shape, const std::string* but) const;
    std::vector<ShapeId> what_waits_for(const std::string& host) const;
    std::string blocked_hosts_for(ShapeId shape) const;
    std::optional<std::string> audit_hosts() const;

    // reactor_judge.cpp
    void judge_host(const Worker& worker, TaskId task, const Outcome& outcome, Now now, Actions& actions);
    AlikeId alike(ShapeId shape);
    Instant begun(WorkerId worker, TaskId task, const Outcome& outcome, Now now) const;
    bool others_could_do(ShapeId failing, const std::string& host) const;
    std::uint64_t running_elsewhere(const std::string& host, AlikeId kind, Instant from, Instant to);
    std::uint64_t tickets_elsewhere(const std::string& host, AlikeId kind, Instant from, Instant to);

    // reactor_times.cpp
    void expire(Now now, Actions& actions);
    void expire(TaskId task, Now now, Actions& actions);
    Instant when(WallMicros wall) const;
    Duration time_for(TaskId task, Now now) const;
    bool ended_by_its_end_time(TaskId task, const Outcome& outcome) const;

    // reactor_stop.cpp
    void on_event(const StopRequested& event, Now now, Actions& actions);
    void on_event(const StorageTrouble& event, Now now, Actions& actions);
    void on_event(const Tick& event, Now now, Actions& actions);
    void on_event(const Tuned& event, Now now, Actions& actions);
    void kill_what_runs(Now now, Actions& actions);
    void finish_if_over(Now now, Actions& actions);
    ExitCode exit_code() const;

    // dispatch.cpp
    bool gives_out();
    void dispatch(Now now, Actions& actions);
    ShapeId most_urgent_for(const Worker& worker, const ReadyHead& head, Now now) const;
    void spread(const std::vector<ShapeId>& shapes, Now now, Actions& actions);
    void spread_suspects(ShapeId shape, Now now, Actions& actions);
    void fill(Worker& worker, Now now, Actions& actions);
    void fill_with_suspect(Worker& worker, Now now, Actions& actions);
    void fill_with_others(Worker& worker, Now now, Actions& actions);
    Worker* roomiest(ShapeId shape, bool suspect, Now now);
    std::optional<Worker*> roomiest_of(const Places& places, ShapeId shape, bool suspect, Now now);
    void lease(Worker& worker, TaskId task, ShapeId shape, Now now, Actions& actions);
    void reserve(const Worker& worker, ShapeId shape, bool suspect);
    void end_reservation();
    void end_idle_reservation(Now now);

    // room.cpp
    bool ever_holds(const Resources& whole, const std::vector<std::string>& features, ShapeId shape) const;
    Resources share(ShapeId shape, const Resources& whole) const;
    Resources share_by_ticket(const Resources& whole) const;  // of the open batch
    static bool has_time(std::optional<Instant> leaves, const Shape& shape, Now now);
    bool could_ever_run(const Worker& worker, ShapeId shape) const;
    bool could_hold(const Worker& worker, ShapeId shape, Now now) const;
    bool is_open_to(const Worker& worker, ShapeId shape, bool suspect, Now now) const;
    std::optional<TaskId> takes(const Worker& worker, ShapeId shape, bool suspect, Now now) const;
    Resources given_now(ShapeId shape, const Worker& worker) const;
    std::optional<TaskId> takes_suspect(const Worker& worker, ShapeId shape) const;
    struct Tries {
        std::uint32_t spent = 0;  // of those that count for the limit
        std::uint32_t most = 0;   // 0: no limit
        bool of_all = false;      // not only those that were lost count
    };
    Tries tries(TaskId task) const;
    bool last_chance(TaskId task) const;
    std::int64_t queue_depth(ShapeId shape, const Worker& worker, const Resources& give) const;

    // reactor_unfit.cpp
    void skip_what_fits_nowhere(ShapeId shape, Now now, Actions& actions);
    bool fits_an_offer(const Ask& ask, const Shape& shape) const;
    bool fits_somewhere(const Ask& ask, const Shape& shape) const;
    bool fits_somewhere(ShapeId shape) const { return fits_somewhere(asked(shape), ledger_.shape(shape)); }
    bool pool_is_judged(Now now) const;
    Resources largest_here() const;
    std::string largest_with(const std::vector<std::string>& features, const std::string& which) const;
    Skipped fits_nowhere(IntervalSet tasks, ShapeId shape) const;
    void skip_ready(ShapeId shape, const std::function<Skipped(IntervalSet)>& why, Actions& actions);
    void tell_what_waits_later(Now now, bool grew);
    void tell_what_waits(Now now, Actions& actions);
    void tell_what_is_blocked(const std::vector<ShapeId>& waiting, Actions& actions);
    bool is_misspelt(const Shape& shape) const;
    std::string what_is_missing(ShapeId shape) const;
    void note_functions(const Worker& worker);
    std::string some_functions() const;

    // reactor_recall.cpp
    bool someone_idles_while_leases_queue() const;
    bool some_have_yet_to_account() const;
    bool a_dry_rank_idles() const;
    void watch_idle_workers(Now now);
    void recall_for_idle_workers(Now now, Actions& actions);
    void recall_leases(Actions& actions);
    void recall_leases(Scarce what, Actions& actions);
    static std::int64_t recall(Worker& worker, Scarce what, std::int64_t amount, Actions& actions);

    // reactor_why.cpp
    std::string why_not_given_out(TaskId task, Now now) const;
    Resources largest_for(ShapeId shape, Now now) const;

    // reactor_view.cpp
    struct Lanes {
        std::int64_t count = 0;
        Count cores;
    };
    Lanes lanes_of_batch() const;
    std::string what_fits_nowhere() const;
    std::string what_is_blocked() const;
    std::int64_t able_workers() const;
    ShapeState& state_of(ShapeId shape);

    ReactorOptions options_;
    Instant last_event_;
    WallMicros last_wall_ = 0;
    // Time by which silence is judged: it stands still while this process does, so that a manager that was
    // stopped or waited for a slow disk does not take its workers for dead before it has read what they sent
    // meanwhile.
    Instant attentive_;
    Ledger ledger_;
    Groups groups_;
    WorkerTable workers_;
    std::vector<ShapeState> shape_states_;
    std::vector<Ask> asked_;                 // by ShapeId
    std::vector<CategoryState> categories_;  // by CategoryId
    std::vector<CategoryId> limited_;        // in how many of them run at once
    std::vector<CategoryId> automatic_;      // whose tasks are given what was measured
    Resources largest_here_;                 // by which that was bounded
    std::uint64_t largest_of_ = 0;           // pool version in which that was
    std::set<WorkerId> pool_;                // living workers that take tickets
    std::optional<Batch> batch_;             // one at a time
    std::uint32_t next_batch_ = 1;
    IntervalSet doubtful_;                 // may have been claimed by a rank that was lost: not sealed again
    std::uint64_t last_chances_ = 0;       // tasks whose next loss is final: they run alone
    std::optional<Reservation> reserved_;  // one at a time
    HostBlocks blocks_;
    HostWatch host_watch_;
    // By what makes tasks comparable: the category, whether they need GPUs, features and workers.
    std::map<std::tuple<CategoryId, bool, std::vector<std::string>, std::vector<WorkerId>>, AlikeId> alike_;
    std::uint64_t last_hosts_at_ = 0;  // pool version in which no host was set aside that tasks wait for
    Pace pace_;
    bool watches_pace_ = false;  // leases are timed
    Pace stragglers_;            // of those that may be copied
    bool copies_stragglers_ = false;
    Instant copies_pause_until_;     // none of them is looked at before
    std::map<TaskId, Copy> copies_;  // beside the attempt that the ledger knows of
    struct Avoided {
        std::string host;
        Instant until;
        ShapeId shape;
    };
    std::map<TaskId, Avoided> avoided_;          // tasks that wait for another host than that one
    std::map<ShapeId, std::uint32_t> avoiding_;  // how many of them
    std::set<std::pair<Instant, TaskId>> avoided_until_;
    Instant settled_at_;       // from then on, a worker that is not there will not come
    Instant pool_settled_at_;  // nor a rank that takes tickets
    bool check_fits_ = true;   // whether every ready shape is to be looked at for one that fits nowhere
    std::set<std::string> functions_seen_;  // that some worker has had, by their features
    std::optional<Instant> tell_waits_at_;  // what no worker can hold is told then,
    Instant tell_waits_by_;                 // or then, however the pool grows
    bool told_blocked_ = false;             // that tasks wait for hosts that are blocked
    std::vector<ShapeId> awakened_;         // with tasks that could run now where they could not before
    std::optional<Instant> idle_since_;     // some worker idles while others have leases that wait
    Duration recall_pause_ = first_recall_pause;
    std::uint64_t pool_version_ = 1;  // counts joins and departures
    std::uint64_t joined_ = 0;
    std::uint64_t lost_ = 0;
    bool input_ended_ = false;
    bool storage_trouble_ = false;
    std::uint32_t hold_until_workers_ = 0;  // 0: they were there
    std::optional<Stop> stop_;
    bool finished_ = false;
    std::uint64_t stale_ = 0;
    std::uint64_t looks_ = 0;
    ManagerStats counters_;                        // the cumulative ones
    std::vector<ManagerStats> category_counters_;  // by CategoryId
};

// `add` is applied to the counters of the whole and to those of the task's category.
template <class F>
void Reactor::count_for(TaskId task, F&& add) {
    add(counters_);
    const std::size_t category = ledger_.shape(ledger_.shape_of(task)).category.value();
    if (category >= category_counters_.size()) category_counters_.resize(category + 1);
    add(category_counters_[category]);
}

}  // namespace wq::core
