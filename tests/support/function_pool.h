// A manager with workers that call functions, all in this process: connected by a faultless loopback, with
// real threads for the calls and no launcher. Workers can be lost; every end is recorded.
#pragma once

#include <poll.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "manager/manager.h"
#include "net/frames/loopback.h"
#include "ranks/tickets/ticket_pool.h"
#include "records/recorder/recorder.h"
#include "support/call_table.h"
#include "support/idle_launcher.h"
#include "worker/worker.h"

namespace wq::testing {

// Commands and forked calls cannot run here.
class NoLauncher final : public IdleLauncher {
  public:
    void run(node::process::Order order) override { orders_.push_back(std::move(order)); }
    std::vector<node::launcher::Report> next() override {
        std::vector<node::launcher::Report> reports;
        for (const node::process::Order& order : std::exchange(orders_, {})) {
            node::launcher::TaskEnded ended{order.task, order.attempt, {}, {}};
            ended.outcome.ending = engine::model::Ending::not_started;
            ended.outcome.reason = "no launcher";
            reports.emplace_back(std::move(ended));
        }
        return reports;
    }

  private:
    std::vector<node::process::Order> orders_;
};

// Keeps ends like a program's manager.
class EndsRecorder final : public records::recorder::Recorder {
  public:
    Wants wants() const override { return {false, false}; }
    void task(records::recorder::Recorded ended) override {
        ++tasks_;
        if (ended.record.final) on_task(ended);
    }
    void range(const records::journal::RangeRecord& record) override {
        tasks_ += record.tasks.count();
        on_range(record);
    }
    void worker(const records::journal::WorkerRecord&) override {}
    void sample(const records::journal::Sample&) override {}
    void category(CategoryId, std::string) override {}
    void transaction(WallMicros, std::string) override {}
    std::uint64_t acknowledged() const override { return tasks_; }
    std::uint64_t backlog_bytes() const override { return 0; }
    int descriptor() const override { return -1; }
    void settle() override {}
    std::optional<std::string> trouble() const override { return std::nullopt; }
    std::vector<std::string> notices() override { return {}; }
    Status close() override { return success(); }
    Unrecorded unrecorded() const override { return {}; }

    std::function<void(records::recorder::Recorded&)> on_task = [](records::recorder::Recorded&) {};
    std::function<void(const records::journal::RangeRecord&)> on_range =
        [](const records::journal::RangeRecord&) {};

  private:
    std::uint64_t tasks_ = 0;
};

struct FunctionPoolOptions {
    std::uint32_t workers = 2;
    bool tickets = false;
    std::int64_t cores = 1;  // per worker
    std::uint32_t max_losses = 1'000'000;
};

class FunctionPool {
  public:
    FunctionPool(const node::process::FunctionTable& functions, FunctionPoolOptions options = {})
        : options_(options), manager_end_(network_.endpoint(net::frames::PeerId(0))) {
        network_.advance(instant_now().time_since_epoch());
        const ranks::tickets::PoolShape shape{std::max(options.workers, 1U), 256 * 1024};
        segment_.resize(ranks::tickets::TicketPool::bytes_needed(shape) / sizeof(CacheLine) + 1);
        ranks::tickets::TicketPool::format(segment_.front().bytes, shape);
        manager::ManagerOptions manager;
        manager.reactor.expected_workers = options.workers;
        manager.reactor.max_losses = options.max_losses;
        manager.reactor.seal_batches = options.tickets;
        manager_ = std::make_unique<manager::Manager>(manager, tasks, recorder, now());
        for (std::uint32_t rank = 0; rank < options.workers; ++rank) add_worker(rank, functions, shape);
    }

    engine::model::Now now() { return {instant_now(), wall_now()}; }

    TaskId submit(const std::string& function, std::string arguments,
                  engine::model::CallMode mode = engine::model::CallMode::direct) {
        const TaskId task = tasks.add({function, std::move(arguments), mode});
        manager_->add(range_of(task, 1), {}, {}, now());
        return task;
    }
    TaskId submit_range(const std::string& function, std::int64_t first_index, std::uint64_t count,
                        engine::model::CallMode mode = engine::model::CallMode::direct) {
        const TaskId task = tasks.add_range({function, {}, mode}, first_index, count);
        engine::model::TaskRange range = range_of(task, count);
        range.shape.kind = task.value() + 1;
        manager_->add(range, {}, {}, now());
        return task;
    }
    void end_input() { manager_->end_input(now()); }

    // Lets everything make progress once. True: something moved.
    bool turn() {
        bool moved = receive();
        manager_->tick(now());
        manager_->flush();
        for (auto& node : nodes_)
            if (node) moved = turn(*node) || moved;
        moved = receive() || moved;
        manager_->flush();
        return moved;
    }
    void run_until(const std::function<bool()>& enough) {
        while (!enough()) {
            if (!turn() && !enough()) wait();
        }
    }
    void run() {
        run_until([&] { return manager_->over(); });
    }

    // It vanishes at once, whatever it was doing.
    void lose(std::uint32_t rank) {
        network_.crash(nodes_[rank]->peer, "killed");
        nodes_[rank].reset();
    }

    manager::Manager& manager() { return *manager_; }
    node::launcher::FunctionRunner& runner(std::uint32_t rank) { return *nodes_[rank]->runner; }
    bool used_tickets() const { return used_tickets_; }

    CallTable tasks;
    EndsRecorder recorder;

  private:
    struct alignas(64) CacheLine {
        std::byte bytes[64];
    };
    struct Node {
        net::frames::PeerId peer;
        std::unique_ptr<net::frames::Transport> transport;
        NoLauncher launcher;
        std::unique_ptr<node::launcher::FunctionRunner> runner;
        std::unique_ptr<ranks::tickets::TicketPool> pool;
        std::unique_ptr<worker::TicketClient> taker;
        std::unique_ptr<worker::Worker> worker;
        bool greeted = false;
    };

    static engine::model::TaskRange range_of(TaskId first, std::uint64_t count) {
        engine::model::TaskRange range{first, count, {}, {}};
        range.shape.needs.cores = 1;
        return range;
    }

    void add_worker(std::uint32_t rank, const node::process::FunctionTable& functions,
                    const ranks::tickets::PoolShape& shape) {
        auto node = std::make_unique<Node>();
        node->peer = network_.add();
        node->transport = network_.endpoint(node->peer);
        network_.connect(net::frames::PeerId(0), node->peer);
        node->runner = std::make_unique<node::launcher::FunctionRunner>(
            functions, static_cast<std::size_t>(options_.cores));
        worker::WorkerOptions worker;
        worker.hello.rank = rank;
        worker.hello.host = "here";
        worker.hello.offers = {options_.cores, 1000, 1000, 0};
        if (options_.tickets) {
            node->pool = std::make_unique<ranks::tickets::TicketPool>(segment_.front().bytes, shape, rank);
            node->taker = std::make_unique<worker::TicketClient>(*node->pool, worker.hello.offers);
            worker.hello.takes_tickets = true;
        }
        node->worker =
            std::make_unique<worker::Worker>(worker, *node->transport, net::frames::PeerId(0), node->launcher,
                                             node->taker.get(), node->runner.get());
        nodes_.push_back(std::move(node));
    }

    bool receive() {
        inbox_.clear();
        const bool moved = manager_end_->poll(inbox_);
        for (const net::frames::Arrival& arrival : inbox_)
            manager_->on_arrival(*manager_end_, arrival, now());
        return moved;
    }

    bool turn(Node& node) {
        const Instant at = instant_now();
        if (!std::exchange(node.greeted, true)) node.worker->start(at);
        inbox_.clear();
        const bool moved = node.transport->poll(inbox_);
        for (const net::frames::Arrival& arrival : inbox_)
            if (const auto* frame = std::get_if<net::frames::Frame>(&arrival))
                node.worker->on_frame(frame->bytes, at);
        used_tickets_ = used_tickets_ || (node.taker && node.taker->active());
        node.worker->on_launcher(at);
        node.worker->tick(at);
        return moved;
    }

    void wait() {
        std::optional<Instant> next = manager_->wakeup();
        std::vector<pollfd> descriptors;
        bool active = false;
        for (const auto& node : nodes_) {
            if (!node) continue;
            if (const auto at = node->worker->wakeup(); at && (!next || *at < *next)) next = at;
            descriptors.push_back({node->runner->descriptor(), POLLIN, 0});
            active = active || (node->taker && node->taker->active());
        }
        Duration limit = active ? std::chrono::microseconds(50) : std::chrono::milliseconds(10);
        if (next) limit = std::clamp<Duration>(*next - instant_now(), Duration{0}, limit);
        const timespec time{0, limit.count()};
        ppoll(descriptors.data(), descriptors.size(), &time, nullptr);
    }

    FunctionPoolOptions options_;
    net::frames::LoopbackNetwork network_{1};
    std::unique_ptr<net::frames::Transport> manager_end_;
    std::vector<CacheLine> segment_;
    std::unique_ptr<manager::Manager> manager_;
    std::vector<std::unique_ptr<Node>> nodes_;
    std::vector<net::frames::Arrival> inbox_;
    bool used_tickets_ = false;
};

}  // namespace wq::testing
