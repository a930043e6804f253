#include "shared_run/shared_source.h"

#include <algorithm>
#include <future>
#include <utility>

namespace wq::shared_run {

namespace {

constexpr Duration first_pause = std::chrono::seconds(1);
constexpr Duration longest_pause = std::chrono::seconds(30);

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
    return said_->any() || (!busy_ && (!events_.empty() || instant_now() >= next_));
}

std::optional<Instant> SharedSource::wakeup() const {
    if (busy_ || ended_) return std::nullopt;
    return next_;
}

Status SharedSource::read(manager::Manager& manager, core::Now now) {
    for (const std::string& line : said_->take()) say_(line);
    thread_->finish();
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
    if (turn.problem && turn.problem->code == ExitCode::unreachable) {
        if (pause_ == Duration{0}) say_(turn.problem->message + "; trying again");
        pause_ = std::clamp(2 * pause_, first_pause, longest_pause);
        next_ = instant_now() + pause_;
        return;
    }
    if (turn.problem) problem_ = turn.problem;
    if (std::exchange(pause_, Duration{0}) != Duration{0}) say_(name_ + " is reached again");
}

void SharedSource::carry_out(const Order& order, manager::Manager& manager, core::Now now) {
    if (const auto* environment = std::get_if<RunEnvironment>(&order)) {
        environment_[environment->seat] = ++positions_;
        manager.add_environment_line(positions_, environment->text, {environment->seat.value()});
    } else if (const auto* line = std::get_if<RunLine>(&order)) {
        const TaskId task = tasks_.add_line(line->command, line->number, environment_[line->seat]);
        tickets_[task] = line->ticket;
        tasks_of_tickets_[line->ticket] = task;
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
    const std::uint64_t id = task->second.value();
    tickets_.erase(task->second);
    tasks_of_tickets_.erase(task);
    manager.ask(core::CancelRequested{{id, id + 1}}, now);
}

std::optional<std::uint64_t> SharedSource::take_ticket(TaskId task) {
    const auto found = tickets_.find(task);
    if (found == tickets_.end()) return std::nullopt;
    const std::uint64_t ticket = found->second;
    tasks_of_tickets_.erase(ticket);
    tickets_.erase(found);
    return ticket;
}

Result<bool> SharedSource::close() {
    // Behind a turn that may be under way, on the same thread.
    std::promise<Result<bool>> closed;
    thread_->post([&, dispatcher = dispatcher_, events = std::exchange(events_, {})] {
        dispatcher->note(events);
        const Status status = dispatcher->close();
        closed.set_value(status ? Result<bool>(dispatcher->failed()) : Result<bool>(status.error()));
        return Background::Then();
    });
    return closed.get_future().get();
}

}  // namespace wq::shared_run
