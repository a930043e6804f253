// A reactor run in short verbs. Every action is a line of text and is checked in order. At the end no action
// may be left; every event is followed by an audit.
#pragma once

#include <gmock/gmock.h>

#include <deque>
#include <string>

#include "engine/policies/reactor.h"

namespace wq::engine::policies {

using namespace engine::model;

class RunFixture : public ::testing::Test {
  protected:
    ~RunFixture() override { EXPECT_THAT(lines_, ::testing::IsEmpty()) << "actions that nobody took"; }

    void options(ReactorOptions options) { reactor_ = Reactor(options, now()); }

    void event(const Event& event) {
        std::vector<Action> actions;
        reactor_.on(event, now(), actions);
        ASSERT_EQ(reactor_.audit(), std::nullopt);
        for (const Action& action : actions) {
            std::visit([&](const auto& known) { lines_.push_back(text(known)); }, action);
            if (const auto* ended = std::get_if<AttemptEnded>(&action)) last_ended_ = *ended;
            if (const auto* ended = std::get_if<RangeEnded>(&action)) last_range_ = *ended;
            if (const auto* lease = std::get_if<Lease>(&action)) last_watch_ = lease->watch;
            if (const auto* seal = std::get_if<Seal>(&action)) last_watch_ = seal->watch;
        }
    }

    // The next actions, in this order.
    void expect(std::initializer_list<const char*> lines) {
        for (const char* line : lines) {
            ASSERT_FALSE(lines_.empty()) << "no action left, expected: " << line;
            EXPECT_EQ(lines_.front(), line);
            lines_.pop_front();
        }
        EXPECT_THAT(lines_, ::testing::IsEmpty());
    }

    // All present actions, in an unspecified order.
    template <class F>
    void take(F&& each) {
        for (const std::string& line : std::exchange(lines_, {})) each(line);
    }

    void pass(Duration time) { clock_ += time; }
    void tick() { event(Tick{}); }
    // Ticks when the reactor asks for it, until `time` has passed.
    void idle(Duration time) {
        const Duration end = clock_ + time;
        for (auto at = reactor_.wakeup(); at && at->time_since_epoch() <= end; at = reactor_.wakeup()) {
            clock_ = std::max(clock_, at->time_since_epoch());
            tick();
        }
        clock_ = end;
    }

    void add(std::uint64_t count, Shape shape = {}, std::vector<GroupTag> groups = {}, IntervalSet done = {},
             IntervalSet failed = {}) {
        // In these tests a task needs one core unless specified otherwise.
        if (shape.needs == Needs{}) shape.needs.cores = 1;
        event(TasksAdded{
            {TaskId(reactor_.ledger().size()), count, std::move(shape), std::move(groups)}, done, failed});
    }
    void barrier() { event(BarrierAdded{}); }
    void end_input() { event(InputEnded{}); }

    void join(std::uint32_t worker, std::int64_t cores = 1, bool tickets = false,
              std::optional<Duration> leaves_in = {}) {
        WorkerJoined joined{
            WorkerId(worker), "node" + std::to_string(worker), {cores, cores * 1000, 0, 0}, {}, tickets};
        if (leaves_in) joined.leaves_at = Instant(clock_ + *leaves_in);
        event(joined);
    }
    void hear(std::uint32_t worker) { event(WorkerHeard{WorkerId(worker)}); }
    void lose(std::uint32_t worker) { event(WorkerLeft{WorkerId(worker), "gone", true}); }
    void leave(std::uint32_t worker) { event(WorkerLeft{WorkerId(worker), "bye", false}); }

    // A worker whose transport reports its loss.
    void join_watched(std::uint32_t worker, std::int64_t cores = 1, std::vector<std::string> features = {}) {
        WorkerJoined joined{
            WorkerId(worker), "node" + std::to_string(worker), {cores, cores * 1000, 0, 0}, {}};
        joined.watched = true;
        joined.features = std::move(features);
        event(joined);
    }
    void away(std::uint32_t worker, Duration limit = std::chrono::seconds(60)) {
        event(WorkerDisconnected{WorkerId(worker), "cut", limit});
    }
    void back(std::uint32_t worker, std::vector<std::pair<TaskId, Attempt>> holding = {}) {
        event(WorkerReconnected{WorkerId(worker), std::move(holding)});
    }
    void drain(std::uint32_t worker) { event(WorkerDraining{WorkerId(worker)}); }
    void cancel(std::uint64_t task) { cancel(task, task + 1); }
    void cancel(std::uint64_t first, std::uint64_t end) { event(CancelRequested{{first, end}}); }
    void range_done(std::uint32_t worker, std::uint32_t batch, IntervalSet done, std::int64_t wall_us = 0) {
        event(RangeReported{WorkerId(worker), BatchId(batch), std::move(done), now().wall, wall_us});
    }

    void report(std::uint32_t worker, std::uint64_t task, Attempt attempt, Outcome outcome) {
        event(TaskReported{WorkerId(worker), TaskId(task), attempt, std::move(outcome)});
    }
    void ok(std::uint32_t worker, std::uint64_t task, Attempt attempt = 1,
            Duration wall = std::chrono::seconds(5)) {
        Outcome outcome;
        outcome.wall_us = std::chrono::duration_cast<std::chrono::microseconds>(wall).count();
        report(worker, task, attempt, outcome);
    }
    void fail(std::uint32_t worker, std::uint64_t task, Attempt attempt = 1) {
        Outcome outcome;
        outcome.exit_code = 1;
        outcome.wall_us = 5'000'000;
        report(worker, task, attempt, outcome);
    }
    void end(std::uint32_t worker, std::uint64_t task, Attempt attempt, Ending ending) {
        Outcome outcome;
        outcome.ending = ending;
        outcome.wall_us = 5'000'000;
        outcome.started_us = now().wall - outcome.wall_us;
        report(worker, task, attempt, outcome);
    }
    void give_back(std::uint32_t worker, std::uint64_t task, Attempt attempt = 1) {
        event(TaskGivenBack{WorkerId(worker), TaskId(task), attempt});
    }
    void dry(std::uint32_t worker, std::uint32_t batch, IntervalSet holding = {}) {
        event(TicketsReported{WorkerId(worker), BatchId(batch), holding, true});
    }
    void stop(StopReason reason = StopReason::interrupted, Duration grace = std::chrono::seconds(10)) {
        event(StopRequested{reason, grace});
    }

    static Shape cores(std::int64_t count) {
        Shape shape;
        shape.needs.cores = count;
        return shape;
    }
    static Shape pinned(std::initializer_list<std::uint32_t> workers) {
        Shape shape;
        for (const std::uint32_t id : workers) shape.workers.emplace_back(id);
        return shape;
    }
    static Shape retries(std::uint32_t count) {
        Shape shape;
        shape.retries = count;
        return shape;
    }
    static IntervalSet ids(std::uint64_t first, std::uint64_t end) {
        IntervalSet set;
        set.insert({first, end});
        return set;
    }

    Now now() const { return {Instant(clock_), clock_ / std::chrono::microseconds(1)}; }

    AttemptEnded last_ended_;  // complete, for what its line omits
    RangeEnded last_range_;
    Watch last_watch_;  // of the last lease
    Duration clock_{std::chrono::hours(1)};
    Reactor reactor_{ReactorOptions{}, now()};

  private:
    template <class IdType>
    static std::string s(IdType id) {
        return std::to_string(id.value());
    }
    static std::string text(Interval part) {
        IntervalSet set;
        set.insert(part);
        return text(set);
    }
    static std::string text(const IntervalSet& set) {
        std::string all;
        set.for_each([&](Interval part) {
            all += (all.empty() ? "" : ",") + std::to_string(part.first);
            if (part.size() > 1) all += "-" + std::to_string(part.end - 1);
        });
        return all;
    }
    static std::string text(const Lease& a) {
        return "lease " + s(a.task) + "." + std::to_string(a.attempt) + " to " + s(a.worker);
    }
    static std::string text(const KillAll& a) { return "kill all on " + s(a.worker); }
    static std::string text(const Recall& a) {
        return "recall " + std::to_string(a.most) + " from " + s(a.worker);
    }
    static std::string text(const Seal& a) { return "seal batch " + s(a.batch) + ": " + text(a.tasks); }
    static std::string text(const Revoke& a) { return "revoke batch " + s(a.batch); }
    static std::string text(const BatchOver& a) { return "batch " + s(a.batch) + " over"; }
    static std::string text(const Dismiss& a) { return "dismiss " + s(a.worker) + ": " + a.why; }
    static std::string text(const AttemptEnded& a) {
        return s(a.task) + "." + std::to_string(a.attempt) + (a.final ? " ended for good: " : " ended: ") +
               describe(a.outcome);
    }
    static std::string text(const LeaseRequeued& a) { return s(a.task) + " goes back"; }
    static std::string text(const Skipped& a) {
        return "skip " + text(a.tasks) + ": " + a.reason + (a.detail.empty() ? "" : "; " + a.detail);
    }
    static std::string text(const Kill& a) {
        return "kill " + text(a.tasks) + " attempt " + std::to_string(a.attempt) + " on " +
               std::to_string(a.worker.value());
    }
    static std::string text(const RangeEnded& a) {
        return "ended " + text(a.tasks) + " on " + std::to_string(a.worker.value());
    }
    static std::string text(const Cancelled& a) { return "cancelled " + text(a.tasks); }
    std::string text(const HostExcluded& a) const {
        return "set aside " + a.host + " for " + std::to_string((a.until - now().wall) / 1'000'000) +
               " s: " + a.why;
    }
    static std::string text(const HostReleased& a) { return "released " + a.host; }
    static std::string text(const CategoryChanged& a) {
        std::string text = "category " + std::to_string(a.category.value()) + " asks for";
        for (const ResourceKind kind : resource_kinds) text += " " + std::to_string(a.first.at(kind));
        return text;
    }
    static std::string text(const Warning& a) { return "warning: " + a.text; }
    static std::string text(const Finished& a) {
        return "finished " + std::to_string(to_int(a.code)) + (a.stopped ? " stopped" : "");
    }

    std::deque<std::string> lines_;
};

}  // namespace wq::engine::policies
