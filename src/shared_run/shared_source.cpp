#include "shared_run/shared_source.h"

#include <algorithm>
#include <exception>
#include <future>
#include <utility>

namespace wq::shared_run {

namespace {

constexpr auto said_every = std::chrono::milliseconds(200);

}  // namespace

SharedSource::SharedSource(DispatcherOptions options, core::Shape shape, manager::TaskTable& tasks,
                           std::function<void(const std::string&)> say)
    : shape_(std::move(shape)),
      tasks_(tasks),
      say_(std::move(say)),
      name_(list_store::name_of(options.place)),
      thread_(std::make_unique<BackgroundThread>()) {
    options.say = [said = said_](const std::string& line) { said->add(line); };
    dispatcher_ = std::make_shared<Dispatcher>(std::move(options));
}

SharedSource::~SharedSource() = default;

void SharedSource::Said::add(const std::string& line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(line);
}

bool SharedSource::Said::any() {
    const std::lock_guard lock(mutex_);
    return !lines_.empty();
}

std::vector<std::string> SharedSource::Said::take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(lines_, {});
}

bool SharedSource::has_more() {
    const Instant now = instant_now();
    const bool lapsed = std::ranges::any_of(lapses_, [&](const auto& lapse) { return now >= lapse.second; });
    return lapsed || said_->any() || (!busy_ && (!events_.empty() || now >= next_));
}

std::optional<Instant> SharedSource::wakeup() const {
    if (ended_) return std::nullopt;
    std::optional<Instant> next;
    if (!busy_) next = next_;
    for (const auto& [seat, lapses] : lapses_) earliest(next, lapses);
    return next;
}

// Others may take the lines of these seats from now on, since the master has not heard of us for too long.
void SharedSource::end_lapsed(manager::Manager& manager, core::Now now) {
    for (auto lapse = lapses_.begin(); lapse != lapses_.end();) {
        if (now.instant < lapse->second) {
            ++lapse;
            continue;
        }
        std::vector<std::uint64_t> tickets;
        for (const auto& [ticket, place] : tasks_of_tickets_)
            if (place.seat == lapse->first) tickets.push_back(ticket);
        for (const std::uint64_t ticket : tickets) {
            forget(ticket, manager, now);
            happened(LineEnded{ticket, marked_list::TryEnd::lost, 0, {}});
        }
        if (!tickets.empty())
            say_("no sign of life of worker " + std::to_string(lapse->first.value()) + " reached " + name_ +
                 " for too long: the lines that it runs are killed, since others may take them");
        lapse = lapses_.erase(lapse);
    }
}

Status SharedSource::read(manager::Manager& manager, core::Now now) {
    for (const std::string& line : said_->take()) say_(line);
    thread_->finish();
    end_lapsed(manager, now);
    for (const Order& order : std::exchange(orders_, {})) carry_out(order, manager, now);
    if (problem_) return *problem_;
    if (over_ && !std::exchange(ended_, true)) manager.end_input(now);
    const bool due = !events_.empty() || instant_now() >= next_;
    if (!ended_ && !busy_ && due) begin_turn();
    return success();
}

void SharedSource::begin_turn() {
    busy_ = true;
    thread_->post([dispatcher = dispatcher_, events = std::exchange(events_, {}), this] {
        auto turn = std::make_shared<Turn>(dispatcher->turn(events));
        return [this, turn] { end_turn(std::move(*turn)); };
    });
}

void SharedSource::end_turn(Turn turn) {
    busy_ = false;
    std::ranges::move(turn.orders, std::back_inserter(orders_));
    next_ = turn.next;
    over_ = turn.over;
    lapses_ = std::move(turn.lapses);
    problem_ = std::move(turn.problem);
}

void SharedSource::carry_out(const Order& order, manager::Manager& manager, core::Now now) {
    if (const auto* environment = std::get_if<RunEnvironment>(&order)) {
        environment_[environment->seat] = ++positions_;
        manager.add_environment_line(positions_, environment->text, {environment->seat.value()});
    } else if (const auto* line = std::get_if<RunLine>(&order)) {
        const TaskId task = tasks_.add_line(line->command, line->number, environment_[line->seat]);
        tickets_[task] = line->ticket;
        tasks_of_tickets_[line->ticket] = {task, line->seat};
        if (line->probe) probes_.insert(line->ticket);
        core::TaskRange range{task, 1, shape_, {}};
        range.shape.workers = {line->seat};
        manager.add(range, {}, {}, now);
    } else {
        forget(std::get<Forget>(order).ticket, manager, now);
    }
}

void SharedSource::forget(std::uint64_t ticket, manager::Manager& manager, core::Now now) {
    const auto task = tasks_of_tickets_.find(ticket);
    if (task == tasks_of_tickets_.end()) return;
    const std::uint64_t id = task->second.task.value();
    tickets_.erase(task->second.task);
    probes_.erase(ticket);
    tasks_of_tickets_.erase(task);
    manager.ask(core::CancelRequested{{id, id + 1}}, now);
}

std::optional<std::uint64_t> SharedSource::take_ticket(TaskId task) {
    const auto found = tickets_.find(task);
    if (found == tickets_.end()) return std::nullopt;
    const std::uint64_t ticket = found->second;
    tasks_of_tickets_.erase(ticket);
    probes_.erase(ticket);
    tickets_.erase(found);
    return ticket;
}

bool SharedSource::wants_output(TaskId task) const {
    const auto found = tickets_.find(task);
    return found != tickets_.end() && probes_.contains(found->second);
}

Result<bool> SharedSource::close() {
    // Behind a turn that may be under way, on the same thread. It may wait for the list's lock, and says so.
    const auto closed = std::make_shared<std::promise<Result<bool>>>();
    auto result = closed->get_future();
    thread_->post([closed, dispatcher = dispatcher_, events = std::exchange(events_, {})] {
        try {
            dispatcher->note(events);
            const Status status = dispatcher->close();
            closed->set_value(status ? Result<bool>(dispatcher->failed()) : Result<bool>(status.error()));
        } catch (...) {
            closed->set_exception(std::current_exception());
        }
        return Background::Then();
    });
    while (result.wait_for(said_every) != std::future_status::ready)
        for (const std::string& line : said_->take()) say_(line);
    for (const std::string& line : said_->take()) say_(line);
    return result.get();
}

}  // namespace wq::shared_run
