// What a worker tells its manager of itself when it joins, and of the files of its tasks when these end.
#include <gmock/gmock.h>

#include <fstream>

#include "files/trees/tree_format.h"
#include "net/frames/loopback.h"
#include "support/folder.h"
#include "support/idle_launcher.h"
#include "support/inline_background.h"
#include "worker/worker.h"

namespace wq::worker {
namespace {

using std::chrono::hours;
using ::testing::SizeIs;

class FolderLauncher final : public testing::IdleLauncher {
  public:
    std::string scratch() const override { return folder_.path(); }
    void run(node::process::Order order) override { orders.push_back(std::move(order)); }
    std::vector<node::launcher::Report> next() override { return std::exchange(reports, {}); }

    std::vector<node::process::Order> orders;
    std::vector<node::launcher::Report> reports;

  private:
    test::Folder folder_;
};

class WorkerSays : public ::testing::Test {
  protected:
    static constexpr net::frames::PeerId manager{0};
    static constexpr net::frames::PeerId self{1};

    WorkerSays() { network_.connect(manager, self); }

    void join(const WorkerOptions& options) {
        worker_.emplace(options, *worker_end_, manager, launcher_, nullptr, nullptr, &background_);
        worker_->start(network_.now());
    }
    void hear(const net::messages::Message& message) {
        worker_->on_frame(net::messages::encode(message), network_.now());
        work();
    }
    void work() {
        background_.run();
        worker_->on_launcher(network_.now());
        background_.run();
    }
    template <class M>
    std::optional<M> last_said() {
        std::vector<net::frames::Arrival> inbox;
        manager_end_->poll(inbox);
        std::optional<M> last;
        for (const net::frames::Arrival& arrival : inbox) {
            const auto* frame = std::get_if<net::frames::Frame>(&arrival);
            const auto messages = frame != nullptr ? net::messages::decode(frame->bytes) : std::nullopt;
            if (!messages) continue;
            for (const net::messages::Message& message : *messages)
                if (const auto* one = std::get_if<M>(&message)) last = *one;
        }
        return last;
    }

    // Starts a task with an input that came with it, and one output.
    void run_a_task() {
        net::messages::Lease lease;
        lease.task = TaskId(3);
        lease.text = "true";
        lease.files.emplace();
        const std::string stream = files::trees::head_of_stream(1) + "x" + files::trees::tail_of_stream();
        lease.files->inputs.push_back({"in", net::messages::InputKind::content, "", "", stream});
        lease.files->outputs.push_back({"out", true, true, false});
        hear(lease);
        work();
        ASSERT_THAT(launcher_.orders, SizeIs(1));
        started_ = wall_now();
    }
    void end(engine::model::Ending ending) {
        node::launcher::TaskEnded ended{TaskId(3), 1, {}, {}};
        ended.outcome.ending = ending;
        ended.outcome.started_us = started_;
        ended.outcome.wall_us = wall_now() - started_;
        launcher_.reports.emplace_back(ended);
        work();
    }

    net::frames::LoopbackNetwork network_{2};
    std::unique_ptr<net::frames::Transport> manager_end_ = network_.endpoint(manager);
    std::unique_ptr<net::frames::Transport> worker_end_ = network_.endpoint(self);
    FolderLauncher launcher_;
    testing::InlineBackground background_;
    std::optional<Worker> worker_;
    WallMicros started_ = 0;
};

TEST_F(WorkerSays, HowLongItsProcessAndJobHaveRunWhenItJoins) {
    WorkerOptions options;
    options.hello.rank = 1;
    options.hello.allocated_cores = 8;
    options.job_started = network_.now() - hours(3);
    options.leaves_at = network_.now() + hours(2);
    network_.advance(hours(1));  // between its start and its joining
    join(options);
    const auto hello = last_said<net::messages::Hello>();
    ASSERT_TRUE(hello.has_value());
    EXPECT_EQ(hello->version, net::messages::protocol_version);
    EXPECT_EQ(hello->job_age, hours(4));
    EXPECT_EQ(hello->leaves_in, hours(1));
    EXPECT_EQ(hello->allocated_cores, 8);
    ASSERT_TRUE(hello->process_age.has_value());
    EXPECT_GE(*hello->process_age, Duration{0});
    EXPECT_LT(*hello->process_age, hours(1)) << "of this process";
}

TEST_F(WorkerSays, NothingOfAJobThatItIsNotIn) {
    WorkerOptions options;
    options.hello.rank = 1;
    join(options);
    const auto hello = last_said<net::messages::Hello>();
    ASSERT_TRUE(hello.has_value());
    EXPECT_EQ(hello->job_age, std::nullopt);
    EXPECT_EQ(hello->leaves_in, std::nullopt);
    EXPECT_EQ(hello->allocated_cores, 0);
}

TEST_F(WorkerSays, WhenTheFilesOfATaskWereThere) {
    const WallMicros dispatched = wall_now();
    join({});
    run_a_task();
    std::ofstream(launcher_.orders.at(0).directory + "/out") << "y";
    end(engine::model::Ending::exited);
    EXPECT_FALSE(last_said<net::messages::Ended>().has_value()) << "the manager has not stored its output";
    hear(net::messages::OutputsKept{TaskId(3), 1, ""});
    const auto ended = last_said<net::messages::Ended>();
    ASSERT_TRUE(ended.has_value());
    const engine::model::Outcome& outcome = ended->outcome;
    EXPECT_GE(outcome.files.inputs_there_us, dispatched);
    EXPECT_LE(outcome.files.inputs_there_us, outcome.started_us);
    EXPECT_GE(outcome.files.outputs_there_us, outcome.started_us + outcome.wall_us);
    EXPECT_LE(outcome.files.outputs_there_us, wall_now());
}

TEST_F(WorkerSays, WhenTheInputsOfAKilledTaskWereThere) {
    const WallMicros dispatched = wall_now();
    join({});
    run_a_task();
    end(engine::model::Ending::killed);
    const auto ended = last_said<net::messages::Ended>();
    ASSERT_TRUE(ended.has_value());
    EXPECT_EQ(ended->outcome.ending, engine::model::Ending::killed);
    EXPECT_GE(ended->outcome.files.inputs_there_us, dispatched);
    EXPECT_LE(ended->outcome.files.inputs_there_us, started_);
    EXPECT_EQ(ended->outcome.files.outputs_there_us, 0);
}

TEST_F(WorkerSays, WhenTheInputsWereThereOfATaskThatIsKilledWhileItsOutputsAreSent) {
    join({});
    run_a_task();
    std::ofstream(launcher_.orders.at(0).directory + "/out") << "y";
    end(engine::model::Ending::exited);
    hear(net::messages::Kill{TaskId(3), 1});
    const auto ended = last_said<net::messages::Ended>();
    ASSERT_TRUE(ended.has_value());
    EXPECT_EQ(ended->outcome.ending, engine::model::Ending::killed);
    EXPECT_GT(ended->outcome.files.inputs_there_us, 0);
    EXPECT_EQ(ended->outcome.files.outputs_there_us, 0);
}

}  // namespace
}  // namespace wq::worker
