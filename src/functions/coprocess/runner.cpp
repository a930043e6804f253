#include "functions/coprocess/runner.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "base/quiet_thread.h"

namespace wq::functions::coprocess {

namespace {

int milliseconds_until(std::optional<Instant> when) {
    if (!when) return -1;
    if (*when <= instant_now()) return 0;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*when - instant_now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

// Waits, and lets the pool turn.
void turn(Pool& pool, std::vector<pollfd>& polled, int other) {
    polled.assign(1, {other, POLLIN, 0});
    pool.append_descriptors(polled);
    ::poll(polled.data(), polled.size(), milliseconds_until(pool.wakeup()));
    pool.turn(polled.data() + 1, instant_now());
}

}  // namespace

Result<std::unique_ptr<Runner>> Runner::start(PoolOptions options, int interrupt) {
    try {
        std::unique_ptr<Runner> runner(new Runner(std::move(options)));
        if (const Status named = runner->wait_for_name(interrupt); !named) return named.error();
        runner->thread_ = quiet_thread([whole = runner.get()] { whole->work(); });
        return runner;
    } catch (const std::runtime_error& trouble) {
        return Error{ExitCode::unreachable, trouble.what()};
    }
}

Runner::Runner(PoolOptions options) : pool_(options), count_(options.count) {
    if (!bell_.valid() || !alarm_.valid())
        throw std::runtime_error(std::string("cannot make an event descriptor: ") + std::strerror(errno));
}

// If each has failed before any has named itself, they would fail again.
Status Runner::wait_for_name(int interrupt) {
    std::vector<pollfd> polled;
    pool_.start(instant_now());
    while (pool_.name().empty()) {
        if (const auto why = pool_.all_failed()) return Error{ExitCode::bad_input, *why};
        turn(pool_, polled, interrupt);
        if (polled.front().revents != 0) return Error{ExitCode::interrupted, "interrupted"};
    }
    name_ = pool_.name();
    return success();
}

Runner::~Runner() {
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    wake();
    if (thread_.joinable()) thread_.join();
}

void Runner::wake() {
    alarm_.set();
}

// ---- the loop's side ----

void Runner::run(RemoteOrder order) {
    {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(order));
    }
    wake();
}

std::uint64_t Runner::recall(std::uint64_t most) {
    std::uint64_t count = 0;
    const std::lock_guard lock(mutex_);
    for (; count < most && !waiting_.empty(); ++count) {
        reports_.emplace_back(node::launcher::OrderReturned{waiting_.back().task, waiting_.back().attempt});
        waiting_.pop_back();
    }
    if (count > 0) bell_.set();
    return count;
}

void Runner::kill(TaskId task, Attempt attempt) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const RemoteOrder& order) {
        return order.task == task && order.attempt == attempt;
    });
    if (found != waiting_.end()) {
        waiting_.erase(found);
        reports_.emplace_back(node::launcher::OrderReturned{task, attempt});
        bell_.set();
        return;
    }
    to_kill_.emplace_back(task, attempt);
    wake();
}

void Runner::kill_all() {
    recall(UINT64_MAX);
    const std::lock_guard lock(mutex_);
    kill_all_ = true;
    wake();
}

void Runner::forget() {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
    to_kill_.clear();
    reports_.clear();
    drop_all_ = true;
    wake();
}

std::vector<RemoteReport> Runner::next() {
    bell_.clear();
    const std::lock_guard lock(mutex_);
    return std::exchange(reports_, {});
}

std::optional<std::string> Runner::given_up() const {
    const std::lock_guard lock(mutex_);
    return given_up_;
}

std::vector<std::string> Runner::take_news() {
    const std::lock_guard lock(mutex_);
    return std::exchange(news_, {});
}

// ---- the thread's side ----

void Runner::work() {
    std::vector<pollfd> polled;
    for (;;) {
        {
            const std::lock_guard lock(mutex_);
            if (over_) return;
        }
        take_orders(instant_now());
        give_reports();
        turn(pool_, polled, alarm_.descriptor());
        alarm_.clear();
        give_reports();
    }
}

void Runner::take_orders(Instant now) {
    std::vector<Key> kills;
    bool all = false;
    bool drop = false;
    {
        const std::lock_guard lock(mutex_);
        kills.swap(to_kill_);
        all = std::exchange(kill_all_, false);
        drop = std::exchange(drop_all_, false);
    }
    if (drop) pool_.drop_all(now);
    for (const auto& [task, attempt] : kills) pool_.kill(task, attempt, now);
    if (all) pool_.kill_all(now);
    while (pool_.has_idle()) {
        RemoteOrder order;
        {
            const std::lock_guard lock(mutex_);
            // What came after a new kill_all() or forget() is not meant by it.
            if (waiting_.empty() || kill_all_ || drop_all_) return;
            order = std::move(waiting_.front());
            waiting_.pop_front();
        }
        pool_.run(std::move(order), now);
    }
}

void Runner::give_reports() {
    std::vector<node::launcher::TaskEnded> ended = pool_.take_ended();
    const std::lock_guard lock(mutex_);
    if (drop_all_) ended.clear();
    for (node::launcher::TaskEnded& one : ended) reports_.emplace_back(std::move(one));
    for (std::string& one : pool_.take_news()) news_.push_back(std::move(one));
    if (!news_.empty()) bell_.set();
    if (pool_.given_up()) {
        given_up_ = pool_.given_up();
        for (const RemoteOrder& order : waiting_)
            reports_.emplace_back(node::launcher::OrderReturned{order.task, order.attempt});
        waiting_.clear();
        bell_.set();
    }
    if (!reports_.empty()) bell_.set();
}

}  // namespace wq::functions::coprocess
