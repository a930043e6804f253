#include "shared_list/source/shared_source.h"

#include <algorithm>
#include <future>

#include "base/units.h"

namespace wq::shared_list::source {

namespace {

constexpr std::chrono::milliseconds between_looks(100);  // at what is said while the list is closed

// Lines that the worker runs at once. One that waits in the run for a resource is marked as begun, so that no
// other worker can take it.
std::int64_t jobs_of(const engine::model::Needs& needs, const engine::model::Resources& offers) {
    if (needs.cores <= 0) return offers.cores.rounded_down();
    const engine::model::Resources share{needs.cores, std::max<std::int64_t>(needs.memory_mb, 0),
                                         std::max<std::int64_t>(needs.disk_mb, 0),
                                         std::max(needs.gpus, Count(0))};
    return engine::model::how_many_fit(share, offers);
}

}  // namespace

SharedSource::SharedSource(DispatcherOptions options, engine::model::Shape shape, manager::TaskTable& tasks,
                           std::function<void(const std::string&)> say)
    : shape_(std::move(shape)),
      lease_(options.lease),
      tasks_(tasks),
      say_(std::move(say)),
      name_(store::name_of(options.place)),
      thread_(std::make_unique<BackgroundThread>()) {
    options.say = [said = said_](const std::string& line) { said->add(line); };
    options.beaten = [beats = beats_](WorkerId seat, Instant when) { beats->record_beat(seat, when); };
    dispatcher_ = std::make_shared<Dispatcher>(std::move(options));
}

SharedSource::~SharedSource() = default;

bool SharedSource::has_more() {
    const Instant now = instant_now();
    return said_->any() || (lapses_ && now >= *lapses_) || (!busy_ && (!events_.empty() || now >= next_));
}

std::optional<Instant> SharedSource::wakeup() const {
    if (ended_) return std::nullopt;
    std::optional<Instant> next = lapses_;
    if (!busy_) earliest(next, next_);
    return next;
}

Status SharedSource::read(manager::Manager& manager, engine::model::Now now) {
    print_lines();
    thread_->finish();
    for (const DispatchOrder& order : std::exchange(orders_, {})) carry_out(order, manager, now);
    if (lapses_ && now.instant >= *lapses_) end_lapsed(manager, now);
    const bool stopping = manager.reactor().stopping();
    if (const auto problem = std::exchange(problem_, std::nullopt)) {
        if (!stopping) return *problem;
        say_(problem->message);
    }
    if (over_ && !std::exchange(ended_, true)) manager.end_input(now);
    const bool due = !events_.empty() || instant_now() >= next_;
    if (!ended_ && !busy_ && due) begin_turn(!stopping);
    return success();
}

void SharedSource::print_lines() {
    for (const std::string& line : said_->take()) say_(line);
}

void SharedSource::begin_turn(bool gives) {
    busy_ = true;
    thread_->post([dispatcher = dispatcher_, events = std::exchange(events_, {}), gives, this] {
        auto turn = std::make_shared<Turn>(dispatcher->run_turn(events, gives));
        return [this, turn] { end_turn(std::move(*turn)); };
    });
}

void SharedSource::end_turn(Turn turn) {
    busy_ = false;
    std::ranges::move(turn.orders, std::back_inserter(orders_));
    next_ = turn.next;
    over_ = turn.over;
    if (turn.problem) problem_ = turn.problem;
}

void SharedSource::carry_out(const DispatchOrder& order, manager::Manager& manager, engine::model::Now now) {
    if (const auto* environment = std::get_if<RunEnvironment>(&order)) {
        environment_[environment->seat] = ++positions_;
        manager.add_environment_line(positions_, environment->text, {environment->seat.value()});
    } else if (const auto* line = std::get_if<RunLine>(&order)) {
        // Not begun while the run stops: the end of the run gives it back.
        if (!manager.reactor().stopping()) begin(*line, manager, now);
    } else {
        forget(std::get<Forget>(order).ticket, manager, now);
    }
}

void SharedSource::begin(const RunLine& line, manager::Manager& manager, engine::model::Now now) {
    const TaskId task = tasks_.add_line(line.command, line.number, environment_[line.seat]);
    tickets_[task] = line.ticket;
    running_[line.ticket] = {task, line.seat, line.probe};
    note_lapse(line.seat);
    engine::model::TaskRange range{task, 1, shape_, {}};
    range.shape.workers = {line.seat};
    manager.add(range, {}, {}, now);
}

void SharedSource::forget(std::uint64_t ticket, manager::Manager& manager, engine::model::Now now) {
    const auto found = running_.find(ticket);
    if (found == running_.end()) return;
    const std::uint64_t id = found->second.task.value();
    tickets_.erase(found->second.task);
    running_.erase(found);
    manager.ask(engine::model::CancelRequested{{id, id + 1}}, now);
}

void SharedSource::note_lapse(WorkerId seat) {
    if (const auto beaten = beats_->last(seat)) earliest(lapses_, replica::lapse_of(*beaten, lease_));
}

// Others may take the lines of a seat that could give no sign of life: they end here first.
void SharedSource::end_lapsed(manager::Manager& manager, engine::model::Now now) {
    std::vector<std::uint64_t> lost;
    lapses_.reset();
    for (const auto& [ticket, running] : running_) {
        const auto beaten = beats_->last(running.seat);
        const auto lapse = beaten ? replica::lapse_of(*beaten, lease_) : std::nullopt;
        if (lapse && now.instant >= *lapse)
            lost.push_back(ticket);
        else
            earliest(lapses_, lapse);
    }
    if (lost.empty()) return;
    say_(name_ +
         ": this run could not give signs of life for too long: " + count_of(lost.size(), "running line") +
         (lost.size() == 1 ? " is" : " are") + " killed, since other workers may take over");
    for (const std::uint64_t ticket : lost) {
        forget(ticket, manager, now);
        events_.emplace_back(LineEnded{ticket, text::TryEnd::lost, 0, {}});
    }
}

void SharedSource::joined(const records::journal::WorkerRecord& record) {
    const std::int64_t jobs = jobs_of(shape_.needs, record.offers);
    const std::string name = record.rank != records::journal::no_rank
                                 ? record.host + " rank " + std::to_string(record.rank)
                                 : record.host + " " + record.address;
    if (jobs <= 0)
        return say_(name + " gets no lines: each line needs " + engine::model::describe(shape_.needs) +
                    ", and this worker has " + engine::model::describe(record.offers));
    events_.emplace_back(SeatJoined{record.worker, name, static_cast<std::uint32_t>(jobs)});
}

void SharedSource::ended(TaskId task, const std::function<LineEnded(std::uint64_t ticket, bool probe)>& end) {
    const auto found = tickets_.find(task);
    if (found == tickets_.end()) return;
    const auto running = running_.find(found->second);
    events_.emplace_back(end(running->first, running->second.probe));
    running_.erase(running);
    tickets_.erase(found);
}

Result<bool> SharedSource::close(const std::function<bool()>& gives_up) {
    // Behind a turn that may be under way, on the same thread.
    const auto closed = std::make_shared<std::promise<Result<bool>>>();
    auto answer = closed->get_future();
    thread_->post([closed, dispatcher = dispatcher_, events = std::exchange(events_, {})] {
        try {
            dispatcher->handle_events(events);
            const Status status = dispatcher->close();
            closed->set_value(status ? Result<bool>(dispatcher->failed()) : Result<bool>(status.error()));
        } catch (...) {
            closed->set_exception(std::current_exception());
        }
        return Background::Then();
    });
    while (answer.wait_for(between_looks) != std::future_status::ready) {
        print_lines();
        if (!gives_up()) continue;
        // It cannot be stopped, and uses nothing of this object: it goes with the process.
        (void)thread_.release();
        return Error{ExitCode::interrupted, name_ +
                                                ": not all ends are recorded: lines without a recorded end "
                                                "wait again when the lease is over"};
    }
    print_lines();
    return answer.get();
}

namespace {

using engine::model::Ending;
using text::TryEnd;

constexpr int exit_of_timeout = 124;  // as of timeout(1)
constexpr int exit_of_signal = 128;   // as in shells: and the signal's number

int exit_code_of(const engine::model::Outcome& outcome) {
    switch (outcome.ending) {
        case Ending::exited:
        case Ending::not_started:
            return outcome.exit_code;
        case Ending::signalled:
            return exit_of_signal + outcome.signal;
        case Ending::timed_out:
            return exit_of_timeout;
        default:
            return 1;
    }
}

// Whether the line should wait again: nobody knows how it would have ended.
bool is_lost(const engine::model::Outcome& outcome) {
    return outcome.ending == Ending::worker_lost || outcome.ending == Ending::killed ||
           outcome.ending == Ending::never_ran;
}

}  // namespace

void MarkingRecorder::task(records::recorder::Recorded ended) {
    if (source_ != nullptr && ended.record.final) {
        const engine::model::Outcome& outcome = ended.record.outcome;
        source_->ended(ended.record.task, [&](std::uint64_t ticket, bool probe) {
            LineEnded event{ticket, TryEnd::ok, 0, probe ? ended.output.out : std::string()};
            if (is_lost(outcome)) {
                event.end = TryEnd::lost;
            } else if (!outcome.succeeded()) {
                event.end = TryEnd::error;
                event.exit_code = exit_code_of(outcome);
            }
            return event;
        });
    }
    to_->task(std::move(ended));
}

void MarkingRecorder::skipped(const IntervalSet& tasks, const std::string& why, WallMicros when) {
    if (source_ != nullptr) {
        const auto lost = [](std::uint64_t ticket, bool) { return LineEnded{ticket, TryEnd::lost, 0, {}}; };
        tasks.for_each([&](Interval part) {
            for (std::uint64_t id = part.first; id < part.end; ++id) source_->ended(TaskId(id), lost);
        });
    }
    to_->skipped(tasks, why, when);
}

void MarkingRecorder::worker(const records::journal::WorkerRecord& record) {
    to_->worker(record);
    if (source_ == nullptr) return;
    if (record.left_us != 0)
        source_->left(record.worker);
    else
        source_->joined(record);
}

}  // namespace wq::shared_list::source
