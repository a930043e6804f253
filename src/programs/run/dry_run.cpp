#include "programs/run/dry_run.h"

#include <cstdio>

#include "base/units.h"
#include "manager/manager.h"
#include "manager/run/rank_loop.h"
#include "net/frames/transport.h"
#include "node/machine/batch_job.h"
#include "programs/run/run_place.h"

namespace wq::programs::run {

namespace {

// Rehearsed tasks end at once, so the output shows order and place, not time.
class Rehearsal : public net::frames::Transport {
  public:
    explicit Rehearsal(std::vector<net::messages::Hello> workers) : workers_(std::move(workers)) {}

    void begin() {
        for (std::size_t index = 0; index < workers_.size(); ++index) {
            const net::frames::PeerId peer(static_cast<std::uint32_t>(index));
            arrivals_.push_back(net::frames::Joined{peer, workers_[index].host});
            arrivals_.push_back(net::frames::Frame{peer, net::messages::encode(workers_[index])});
        }
    }

    void send(net::frames::PeerId peer, std::string frame) override {
        const auto messages = net::messages::decode(frame);
        ByteWriter answer;
        if (!messages) return;
        for (const net::messages::Message& message : *messages) {
            const auto* lease = std::get_if<net::messages::Lease>(&message);
            if (lease == nullptr) continue;
            print(workers_[peer.value()], *lease);
            net::messages::encode(net::messages::Ended{lease->task, lease->attempt, {}, {}}, answer);
        }
        if (answer.size() > 0) arrivals_.push_back(net::frames::Frame{peer, answer.take()});
    }
    bool poll(std::vector<net::frames::Arrival>& inbox) override {
        const bool moved = !arrivals_.empty();
        for (net::frames::Arrival& arrival : arrivals_) inbox.push_back(std::move(arrival));
        arrivals_.clear();
        return moved;
    }
    void close(net::frames::PeerId) override {}
    bool idle() const override { return true; }
    std::vector<int> descriptors() const override { return {}; }

  private:
    static void print(const net::messages::Hello& worker, const net::messages::Lease& lease) {
        std::printf("task %llu\tworker %u on %s\t%s\t%s\n",
                    static_cast<unsigned long long>(lease.task.value()) + 1, *worker.rank,
                    worker.host.c_str(), engine::model::describe(lease.give).c_str(), lease.text.c_str());
    }
    std::vector<net::messages::Hello> workers_;
    std::vector<net::frames::Arrival> arrivals_;
};

class NoRecords : public records::recorder::Recorder {
  public:
    void task(records::recorder::Recorded) override { ++count_; }
    void worker(const records::journal::WorkerRecord&) override {}
    void sample(const records::journal::Sample&) override {}
    void category(CategoryId, std::string) override {}
    void transaction(WallMicros, std::string) override {}
    std::uint64_t acknowledged() const override { return count_; }
    std::uint64_t backlog_bytes() const override { return 0; }
    int descriptor() const override { return -1; }
    void settle() override {}
    std::vector<std::string> notices() override { return {}; }
    std::optional<std::string> trouble() const override { return std::nullopt; }
    Status close() override { return success(); }
    Unrecorded unrecorded() const override { return {}; }

  private:
    std::uint64_t count_ = 0;
};

std::vector<net::messages::Hello> decode_workers(const std::vector<std::string>& hellos) {
    std::vector<net::messages::Hello> workers;
    for (const std::string& bytes : hellos) {
        const auto messages = net::messages::decode(bytes);
        if (messages && !messages->empty())
            workers.push_back(std::get<net::messages::Hello>(messages->front()));
    }
    return workers;
}

}  // namespace

int dry_run(const RunOptions& options, const std::vector<std::string>& hellos) {
    manager::run::SourceSummary checked = manager::run::check_source(options.source).or_throw();
    std::vector<net::messages::Hello> workers = decode_workers(hellos);
    for (const net::messages::Hello& worker : workers)
        std::printf("worker %u on %s\t%s\n", *worker.rank, worker.host.c_str(),
                    engine::model::describe(worker.offers).c_str());
    manager::ManagerOptions manager_options;
    manager_options.reactor.expected_workers = static_cast<std::uint32_t>(workers.size());
    NoRecords records;
    manager::TaskTable tasks;
    manager::Manager manager(std::move(manager_options), tasks, records, manager::run::now());
    manager.say = [](const std::string& text) { std::printf("# %s\n", text.c_str()); };
    Rehearsal rehearsal(std::move(workers));
    const auto move = [&] {
        std::vector<net::frames::Arrival> inbox;
        manager.flush();
        rehearsal.poll(inbox);
        for (const net::frames::Arrival& arrival : inbox)
            manager.on_arrival(rehearsal, arrival, manager::run::now());
        return !inbox.empty();
    };
    rehearsal.begin();
    while (move()) {
    }
    manager::run::SourceOptions source_options{
        options.defaults, {}, {}, options.monitoring.measures, std::move(checked.categories)};
    if (options.resume) {
        const std::string path =
            choose_run_directory(options, node::machine::batch_job(node::machine::batch_environment()));
        auto earlier = earlier_run(options, path);
        if (!earlier) throw Failure{earlier.error()};
        if (*earlier) source_options.earlier = std::move(**earlier);
    }
    const auto source =
        manager::run::open_source(options.source, std::move(source_options), tasks).or_throw();
    manager::run::Waiter waiter;
    while (!manager.finished()) {
        if (!source->ended()) {
            waiter.clear();
            waiter.watch(source->descriptor());
            if (source->descriptor() >= 0) waiter.wait(std::nullopt);
            const Status read = source->read(manager, manager::run::now());
            if (!read) throw Failure{read.error()};
        }
        const bool moved = move();
        if (!moved && source->ended() && !manager.finished())
            throw Failure{{ExitCode::internal, "the dry run waits for " + manager.reactor().waiting_for()}};
    }
    const std::string all = count_of(tasks.size(), "task");
    if (options.resume)
        std::printf("%s of %s would run, nothing was run\n", format_count(records.acknowledged()).c_str(),
                    all.c_str());
    else
        std::printf("%s, nothing was run\n", all.c_str());
    return to_int(manager.finished()->code);
}

}  // namespace wq::programs::run
