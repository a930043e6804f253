#include "functions/coprocess/runner.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "base/signals.h"
#include "node/process/task_environment.h"

namespace wq::functions::coprocess {

namespace {

int milliseconds_until(std::optional<Instant> when) {
    if (!when) return -1;
    if (*when <= instant_now()) return 0;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*when - instant_now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

// Waits, and lets the pool turn.
void run_turn(CoprocessPool& pool, std::vector<pollfd>& polled, int other) {
    polled.assign(1, {other, POLLIN, 0});
    pool.append_descriptors(polled);
    ::poll(polled.data(), polled.size(), milliseconds_until(pool.wakeup()));
    pool.run_turn(polled.data() + 1, instant_now());
}

}  // namespace

Result<std::unique_ptr<Runner>> Runner::start(const PoolOptions& options, int interrupt) {
    try {
        std::unique_ptr<Runner> runner(new Runner(options));
        if (const Status named = runner->wait_for_name(interrupt); !named) return named.error();
        runner->thread_ = quiet_thread([whole = runner.get()] { whole->work(); });
        return runner;
    } catch (const std::runtime_error& trouble) {
        return Error{ExitCode::unreachable, trouble.what()};
    }
}

Runner::Runner(const PoolOptions& options) : pool_(options), count_(options.count) {
    if (!bell_.valid() || !alarm_.valid())
        throw std::runtime_error(std::string("cannot make an event descriptor: ") + std::strerror(errno));
}

// If each has failed before any has named itself, they would fail again.
Status Runner::wait_for_name(int interrupt) {
    std::vector<pollfd> polled;
    pool_.start(instant_now());
    while (pool_.name().empty()) {
        if (const auto why = pool_.all_failed()) return Error{ExitCode::bad_input, *why};
        run_turn(pool_, polled, interrupt);
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
        carry_out_orders(instant_now());
        give_reports();
        run_turn(pool_, polled, alarm_.descriptor());
        alarm_.clear();
        give_reports();
    }
}

void Runner::carry_out_orders(Instant now) {
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

namespace {

constexpr int longest_back_off = 100;  // times the first
// One that lived this long is not broken from the start.
constexpr Duration long_life = std::chrono::seconds(10);

constexpr std::size_t most_news = 100;

// The GPUs of coprocess `index`, if all of them are divided: those of whole numbers alone, one with others if
// its share is a fraction, or all together are.
std::string gpus_of(const PoolOptions& options, std::int64_t index) {
    const auto all =
        std::min(options.total.gpus.rounded_up(), static_cast<std::int64_t>(options.gpus.size()));
    std::string list;
    if (all == 0) return list;
    const std::int64_t first = index * all / options.count;
    const std::int64_t end = std::max((index + 1) * all / options.count, first + 1);
    for (std::int64_t gpu = first; gpu < end; ++gpu)
        list += (list.empty() ? "" : ",") + options.gpus[static_cast<std::size_t>(gpu)];
    return list;
}

}  // namespace

std::vector<std::string> environment_of(const PoolOptions& options, std::int64_t index, char* const* ours) {
    const engine::model::Resources share = equal_share(options.total, options.count);
    node::process::Variables said;
    if (share.cores > 0) {
        said.emplace_back("CORES", format_count_with_fraction(share.cores));
        const std::string threads = std::to_string(std::max<std::int64_t>(share.cores.rounded_down(), 1));
        for (const char* const name : node::process::thread_variables) said.emplace_back(name, threads);
    }
    if (share.memory_mb > 0) said.emplace_back("MEMORY", std::to_string(share.memory_mb));
    if (share.disk_mb > 0) said.emplace_back("DISK", std::to_string(share.disk_mb));
    said.emplace_back("GPUS", format_count_with_fraction(share.gpus));
    if (!options.gpu_variable.empty()) {
        const std::string gpus = gpus_of(options, index);
        said.emplace_back("GPUS_LIST", gpus);
        said.emplace_back(options.gpu_variable, gpus);
    }
    if (options.gpu_variable == "CUDA_VISIBLE_DEVICES")
        said.emplace_back(node::process::gpu_order_variable, node::process::gpu_order);
    return node::process::BaseEnvironment(ours, said).entries();
}

CoprocessPool::~CoprocessPool() {
    for (const Member& member : members_) member.process->end("the worker ends it");
}

CoprocessPool::CoprocessPool(PoolOptions options) : options_(std::move(options)) {
    for (std::int64_t index = 0; index < options_.count; ++index) {
        CoprocessOptions one;
        one.file = options_.file;
        one.folder = options_.folder;
        one.fork = options_.fork;
        one.environment = environment_of(options_, index, ::environ);
        one.share = equal_share(options_.total, options_.count);
        one.greeting_limit = options_.greeting_limit;
        one.kill_limit = options_.kill_limit;
        members_.emplace_back().process = std::make_unique<Coprocess>(std::move(one));
        members_.back().start_at = Instant::min();
    }
}

void CoprocessPool::start(Instant now) {
    for (Member& member : members_) {
        if (!member.start_at || now < *member.start_at) continue;
        member.start_at.reset();
        member.started = now;
        member.process->start(now);
        check_member(member, now);
    }
}

bool CoprocessPool::has_idle() const {
    return std::any_of(members_.begin(), members_.end(), [](const Member& member) {
        return member.process->state() == Coprocess::State::idle;
    });
}

void CoprocessPool::run(RemoteOrder order, Instant now) {
    const auto idle = std::find_if(members_.begin(), members_.end(), [](const Member& member) {
        return member.process->state() == Coprocess::State::idle;
    });
    idle->process->call(std::move(order), now);
    check_member(*idle, now);
}

bool CoprocessPool::kill(TaskId task, Attempt attempt, Instant now) {
    for (Member& member : members_) {
        const RemoteOrder* const running = member.process->running();
        if (running == nullptr || running->task != task || running->attempt != attempt) continue;
        member.process->end_call(engine::model::Ending::killed, "", now);
        check_member(member, now);
        return true;
    }
    return false;
}

void CoprocessPool::kill_all(Instant now) {
    for (Member& member : members_) {
        member.process->end_call(engine::model::Ending::killed, "", now);
        check_member(member, now);
    }
}

void CoprocessPool::drop_all(Instant now) {
    for (Member& member : members_) {
        member.process->drop_call(now);
        check_member(member, now);
    }
    ended_.clear();
}

void CoprocessPool::append_descriptors(std::vector<pollfd>& to) const {
    for (const Member& member : members_) {
        const Coprocess::Polled some = member.process->descriptors();
        to.insert(to.end(), some.begin(), some.end());
    }
}

void CoprocessPool::run_turn(const pollfd* polled, Instant now) {
    for (Member& member : members_) {
        Coprocess::Polled some;
        std::copy_n(polled, some.size(), some.begin());
        polled += some.size();
        member.process->run_turn(some, now);
        check_member(member, now);
    }
    start(now);
}

// What has become of it.
void CoprocessPool::check_member(Member& member, Instant now) {
    if (auto ended = member.process->take_ended()) ended_.push_back(std::move(*ended));
    const Coprocess::State state = member.process->state();
    if (state == Coprocess::State::down) {
        if (!member.start_at) note_end(member, now);
        return;
    }
    if (state == Coprocess::State::greeting || state == Coprocess::State::ending) return;
    if (name_.empty()) name_ = member.process->name();
    if (member.process->name() != name_)
        member.process->end("it calls itself " + member.process->name() + ", the others are " + name_);
}

void CoprocessPool::note_end(Member& member, Instant now) {
    if (member.process->has_worked()) {
        member.failures = 0;
        member.start_at = now;
        return;
    }
    member.failures = now - member.started < long_life ? member.failures + 1 : 1;
    last_failure_ = member.process->why_down();
    if (news_.size() < most_news) news_.push_back("a coprocess failed: " + last_failure_);
    if (member.failures < options_.most_failures) {
        member.start_at = now + options_.first_back_off *
                                    std::min(1 << std::min(member.failures - 1, 16), longest_back_off);
        return;
    }
    member.start_at = Instant::max();
    member.given_up = true;
    if (std::all_of(members_.begin(), members_.end(), [](const Member& one) { return one.given_up; }))
        given_up_ = "the coprocess " + options_.file + " failed " + std::to_string(member.failures) +
                    " times in a row: " + last_failure_;
    else
        news_.push_back("it failed " + std::to_string(member.failures) +
                        " times in a row; the others go on without it");
}

std::optional<std::string> CoprocessPool::all_failed() const {
    if (std::all_of(members_.begin(), members_.end(), [](const Member& one) { return one.failures > 0; }))
        return last_failure_;
    return std::nullopt;
}

std::optional<Instant> CoprocessPool::wakeup() const {
    std::optional<Instant> next;
    for (const Member& member : members_) {
        earliest(next, member.process->wakeup());
        if (member.start_at && !member.given_up) earliest(next, member.start_at);
    }
    return next;
}

std::vector<node::launcher::TaskEnded> CoprocessPool::take_ended() {
    return std::exchange(ended_, {});
}

}  // namespace wq::functions::coprocess
