// What a program's manager tells those who ask for a listing.
#include <gmock/gmock.h>
#include <poll.h>

#include <nlohmann/json.hpp>

#include "unit/api/program_fixture.h"

namespace wq {
namespace {

using Json = nlohmann::json;
using net::messages::StatusOf;
using ::testing::HasSubstr;
using testing::ProgramTest;

class StatusTest : public ProgramTest {
  protected:
    void start_with_asker(std::size_t lines) {
        api::ProgramManagerOptions options;
        net::frames::TransportPair pair =
            net::frames::open_transport_pair("the manager", "a program").or_throw();
        options.wires.push_back({std::move(pair.first), true});
        asker_ = std::move(pair.second);
        options.described = {"project", 9123, 0, false};
        start(lines, std::move(options));
    }
    // The next answer; nothing: the link has ended.
    std::optional<net::messages::Message> ask(StatusOf what, std::uint64_t from = 0) {
        asker_->send(net::frames::PeerId(0), net::messages::encode(net::messages::StatusQuery{
                                                 net::messages::protocol_version, what, from}));
        for (;;) {
            std::vector<net::frames::Arrival> inbox;
            asker_->poll(inbox);
            for (const net::frames::Arrival& arrival : inbox) {
                if (std::holds_alternative<net::frames::Left>(arrival)) return std::nullopt;
                if (const auto* frame = std::get_if<net::frames::Frame>(&arrival))
                    return net::messages::decode(frame->bytes).value().at(0);
            }
            pollfd ready{asker_->descriptors().front(), POLLIN, 0};
            ::poll(&ready, 1, -1);
        }
    }
    Json listing(StatusOf what) {
        std::string records;
        for (std::uint64_t from = 0;;) {
            const auto answer = ask(what, from);
            if (!answer || !std::holds_alternative<net::messages::StatusPart>(*answer)) return {};
            const auto& part = std::get<net::messages::StatusPart>(*answer);
            records += (records.empty() || part.records.empty() ? "" : ",") + part.records;
            ++parts_;
            if (part.next == 0) return Json::parse("[" + records + "]");
            from = part.next;
        }
    }

    std::unique_ptr<net::frames::Transport> asker_;
    int parts_ = 0;
};

TEST_F(StatusTest, ManyTasksComeInPartsEachOnce) {
    start_with_asker(0);
    for (int n = 0; n < 3000; ++n) submit(Task("echo " + std::string(100, 'x')).tag("t"));
    const Json tasks = listing(StatusOf::tasks);
    ASSERT_EQ(tasks.size(), 3000U);
    for (std::size_t n = 0; n < tasks.size(); ++n) EXPECT_EQ(tasks[n]["taskid"], n + 1);
    EXPECT_GT(parts_, 5);
    EXPECT_EQ(tasks[7]["state"], "WAITING");
    EXPECT_EQ(tasks[7]["tag"], "t");
    EXPECT_EQ(tasks[7]["category"], "default");
    EXPECT_EQ(tasks[7]["cores"], -1);
    EXPECT_FALSE(tasks[7].contains("host"));
}

TEST_F(StatusTest, RunningTasksHaveTheirPlaceAndEndedOnesAreNotListed) {
    start_with_asker(1);
    testing::FakeWorker& worker = add_worker({1, "one", 4, {}});
    submit(Task("first").cores(1));
    worker.wait_for_leases(1);
    submit(Task("second").cores(2).priority(2.5).category("big"));
    worker.wait_for_leases(2);
    submit(Task("third").cores(4));
    Json tasks = listing(StatusOf::tasks);
    ASSERT_EQ(tasks.size(), 3U);
    EXPECT_EQ(tasks[1]["state"], "RUNNING");
    EXPECT_EQ(tasks[1]["host"], "one");
    EXPECT_EQ(tasks[1]["cores"], 2);
    EXPECT_EQ(tasks[1]["priority"], 2.5);
    EXPECT_EQ(tasks[1]["category"], "big");
    EXPECT_EQ(tasks[2]["state"], "WAITING");
}

TEST_F(StatusTest, AQueueHasCountsButNoCommands) {
    start_with_asker(1);
    testing::FakeWorker& worker = add_worker({1, "one", 4, {}});
    submit(Task("secret").cores(1));
    worker.wait_for_leases(1);
    const Json queues = listing(StatusOf::queue);
    ASSERT_EQ(queues.size(), 1U);
    EXPECT_EQ(queues[0]["type"], "wq_master");
    EXPECT_EQ(queues[0]["project"], "project");
    EXPECT_EQ(queues[0]["port"], 9123);
    EXPECT_EQ(queues[0]["tasks_on_workers"], 1);
    EXPECT_EQ(queues[0]["cores_total"], 4);
    EXPECT_EQ(queues[0]["cores_inuse"], 1);
    EXPECT_THAT(queues.dump(), Not(HasSubstr("secret")));
}

TEST_F(StatusTest, AWorkerHasItsTasks) {
    start_with_asker(1);
    testing::FakeWorker& worker = add_worker({1, "one", 4, {}});
    submit(Task("a command").cores(1));
    worker.wait_for_leases(1);
    const Json workers = listing(StatusOf::workers);
    ASSERT_EQ(workers.size(), 1U);
    EXPECT_EQ(workers[0]["hostname"], "one");
    EXPECT_EQ(workers[0]["current_task_000_command"], "a command");
    EXPECT_EQ(workers[0]["total_tasks_running"], 1);
}

TEST_F(StatusTest, CategoriesEndWithTheWholeQueue) {
    start_with_asker(0);
    submit(Task("a").category("big"));
    submit(Task("b"));
    const Json categories = listing(StatusOf::categories);
    ASSERT_EQ(categories.size(), 3U);
    EXPECT_EQ(categories[0]["category"], "default");
    EXPECT_EQ(categories[1]["category"], "big");
    EXPECT_EQ(categories[1]["tasks_waiting"], 1);
    EXPECT_EQ(categories[2]["category"], "whole queue");
    EXPECT_EQ(categories[2]["tasks_waiting"], 2);
}

}  // namespace
}  // namespace wq
