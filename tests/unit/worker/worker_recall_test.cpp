// What a worker gives back when it is asked: as many leases as that, whoever in it holds them. And what it is
// told to keep.
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "net/frames/loopback.h"
#include "support/function_pool.h"
#include "support/idle_launcher.h"
#include "worker/worker.h"

namespace wq::worker {
namespace {

// Nothing starts there.
class FullLauncher final : public testing::IdleLauncher {
  public:
    void run(node::process::Order order) override { orders_.push_back(std::move(order)); }
    void recall(std::uint64_t most) override {
        for (; most > 0 && !orders_.empty(); --most, orders_.pop_back())
            reports_.emplace_back(node::launcher::OrderReturned{orders_.back().task, orders_.back().attempt});
    }
    std::vector<node::launcher::Report> next() override { return std::exchange(reports_, {}); }
    const node::process::Order& last() const { return orders_.back(); }

  private:
    std::vector<node::process::Order> orders_;
    std::vector<node::launcher::Report> reports_;
};

class Gate {
  public:
    void pass() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return open_; });
    }
    void open() {
        const std::lock_guard lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool open_ = false;
};

class WorkerRecall : public ::testing::Test {
  protected:
    static constexpr net::frames::PeerId manager{0};
    static constexpr net::frames::PeerId self{1};

    WorkerRecall() {
        network_.connect(manager, self);
        functions_.add("wait", {[this](std::string_view) {
                                    gate_.pass();
                                    return std::string();
                                },
                                nullptr});
        runner_.emplace(functions_, 1);
        WorkerOptions options;
        options.hello.rank = 1;
        worker_.emplace(options, *worker_end_, manager, launcher_, nullptr, &*runner_);
        worker_->start(network_.now());
    }
    ~WorkerRecall() override { gate_.open(); }

    void lease(bool call) {
        net::messages::Lease lease;
        lease.task = TaskId(next_task_++);
        lease.text = "true";
        if (call) lease.call = net::messages::Call{"wait", "", engine::model::CallMode::direct};
        worker_->on_frame(net::messages::encode(lease), network_.now());
    }
    std::size_t given_back_for(std::uint64_t most) {
        worker_->on_frame(net::messages::encode(net::messages::Recall{most}), network_.now());
        worker_->on_launcher(network_.now());
        std::vector<net::frames::Arrival> inbox;
        manager_end_->poll(inbox);
        std::size_t count = 0;
        for (const net::frames::Arrival& arrival : inbox) {
            const auto* frame = std::get_if<net::frames::Frame>(&arrival);
            const auto messages = frame != nullptr ? net::messages::decode(frame->bytes) : std::nullopt;
            if (!messages) continue;
            for (const net::messages::Message& message : *messages)
                count += std::holds_alternative<net::messages::GivenBack>(message) ? 1 : 0;
        }
        return count;
    }

    Gate gate_;
    node::process::FunctionTable functions_;
    net::frames::LoopbackNetwork network_{2};
    std::unique_ptr<net::frames::Transport> manager_end_ = network_.endpoint(manager);
    std::unique_ptr<net::frames::Transport> worker_end_ = network_.endpoint(self);
    FullLauncher launcher_;
    std::optional<node::launcher::FunctionRunner> runner_;
    std::optional<Worker> worker_;
    std::uint64_t next_task_ = 0;
};

TEST_F(WorkerRecall, IsSharedByCallsAndCommands) {
    for (const bool call : {true, false, true, false, true, false, true}) lease(call);
    EXPECT_EQ(given_back_for(2), 2u);
    EXPECT_EQ(given_back_for(3), 3u);
}

TEST_F(WorkerRecall, OfALeaseThatCameTwiceIsOne) {
    lease(false);
    --next_task_;
    lease(false);
    EXPECT_EQ(given_back_for(2), 1u);
}

TEST_F(WorkerRecall, KeepsNoMoreOutputThanCanTravelWhateverTheManagerSays) {
    for (const std::uint64_t limit : {std::uint64_t{1000}, ~std::uint64_t{0}}) {
        net::messages::Welcome welcome;
        welcome.output_limit = limit;
        worker_->on_frame(net::messages::encode(welcome), network_.now());
        lease(false);
        EXPECT_EQ(launcher_.last().output_limit, std::min(limit, std::uint64_t{1} << 30));
    }
}

}  // namespace
}  // namespace wq::worker
