#include "functions/coprocess/pool.h"

#include <unistd.h>

#include <algorithm>

#include "node/process/task_environment.h"

namespace wq::functions::coprocess {

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

Pool::~Pool() {
    for (const Member& member : members_) member.process->end("the worker ends it");
}

Pool::Pool(PoolOptions options) : options_(std::move(options)) {
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

void Pool::start(Instant now) {
    for (Member& member : members_) {
        if (!member.start_at || now < *member.start_at) continue;
        member.start_at.reset();
        member.started = now;
        member.process->start(now);
        check_member(member, now);
    }
}

bool Pool::has_idle() const {
    return std::any_of(members_.begin(), members_.end(), [](const Member& member) {
        return member.process->state() == Coprocess::State::idle;
    });
}

void Pool::run(RemoteOrder order, Instant now) {
    const auto idle = std::find_if(members_.begin(), members_.end(), [](const Member& member) {
        return member.process->state() == Coprocess::State::idle;
    });
    idle->process->call(std::move(order), now);
    check_member(*idle, now);
}

bool Pool::kill(TaskId task, Attempt attempt, Instant now) {
    for (Member& member : members_) {
        const RemoteOrder* const running = member.process->running();
        if (running == nullptr || running->task != task || running->attempt != attempt) continue;
        member.process->end_call(engine::model::Ending::killed, "", now);
        check_member(member, now);
        return true;
    }
    return false;
}

void Pool::kill_all(Instant now) {
    for (Member& member : members_) {
        member.process->end_call(engine::model::Ending::killed, "", now);
        check_member(member, now);
    }
}

void Pool::drop_all(Instant now) {
    for (Member& member : members_) {
        member.process->drop_call(now);
        check_member(member, now);
    }
    ended_.clear();
}

void Pool::append_descriptors(std::vector<pollfd>& to) const {
    for (const Member& member : members_) {
        const Coprocess::Polled some = member.process->descriptors();
        to.insert(to.end(), some.begin(), some.end());
    }
}

void Pool::turn(const pollfd* polled, Instant now) {
    for (Member& member : members_) {
        Coprocess::Polled some;
        std::copy_n(polled, some.size(), some.begin());
        polled += some.size();
        member.process->turn(some, now);
        check_member(member, now);
    }
    start(now);
}

// What has become of it.
void Pool::check_member(Member& member, Instant now) {
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

void Pool::note_end(Member& member, Instant now) {
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

std::optional<std::string> Pool::all_failed() const {
    if (std::all_of(members_.begin(), members_.end(), [](const Member& one) { return one.failures > 0; }))
        return last_failure_;
    return std::nullopt;
}

std::optional<Instant> Pool::wakeup() const {
    std::optional<Instant> next;
    for (const Member& member : members_) {
        earliest(next, member.process->wakeup());
        if (member.start_at && !member.given_up) earliest(next, member.start_at);
    }
    return next;
}

std::vector<node::launcher::TaskEnded> Pool::take_ended() {
    return std::exchange(ended_, {});
}

}  // namespace wq::functions::coprocess
