// One lane, with a test in the place of the zygote and of the worker.
#include "functions/pool/lane.h"

#include <signal.h>
#include <sys/eventfd.h>

#include "functions/pool/storage.h"
#include "node/process/passed_descriptors.h"
#include "support.h"

namespace wq::functions::pool {
namespace {

using executor_tests::number;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct Process {
    Request request;
    std::unique_ptr<PageMemory> memory;
    Descriptor socket;
    std::optional<RingReader> jobs;
    std::optional<RingWriter> results;

    ZygoteReport report(ZygoteReport::Kind kind, int value) const {
        return {kind, request.lane, request.life, 77, value};
    }
    void is_up() const { memory->page().ready = 1; }
};

class OneLane : public testing::Test {
  protected:
    OneLane() : doorbell_(eventfd(0, EFD_CLOEXEC)) {
        EXPECT_TRUE(socket_pair(control_));
        links_.control = control_[0].get();
        links_.doorbell = doorbell_.get();
    }

    // That the lane has asked for; null: it has not.
    std::unique_ptr<Process> asked() {
        auto process = std::make_unique<Process>();
        std::vector<Descriptor> files;
        if (node::process::receive_descriptors(control_[1].get(),
                                               node::process::writable_bytes_of_value(process->request),
                                               files, MSG_DONTWAIT) <= 0)
            return nullptr;
        if (process->request.kind != Request::Kind::fork) return process;
        auto memory = PageMemory::map(std::move(files.at(0)));
        EXPECT_TRUE(memory);
        process->memory = std::move(*memory);
        process->socket = std::move(files.at(1));
        const Page& page = process->memory->page();
        process->jobs.emplace(process->memory->page().jobs, process->memory->jobs(), page.shape.jobs);
        process->results.emplace(process->memory->page().results, process->memory->results(),
                                 page.shape.results);
        return process;
    }

    void give(std::uint64_t job) {
        Batch batch = number(5);
        Job given;
        given.head.job = job;
        encode(batch, given.payload, given.blocks);
        EXPECT_EQ(*lane_.give(given, batch), Sent::yes);
    }

    LaneLinks links_;
    JobLane lane_{{.worker = 3, .queue = 2}, links_};

  private:
    Descriptor control_[2];
    Descriptor doorbell_;
};

// At the limit of processes of the user, who ends others a minute later.
TEST_F(OneLane, WaitsForAProcessThatCannotBeHad) {
    lane_.begin();
    auto first = asked();
    ASSERT_TRUE(first);
    lane_.on(first->report(ZygoteReport::Kind::forked, 0));
    first->is_up();
    EXPECT_EQ(lane_.state(), JobLane::State::up);
    give(1);
    lane_.on(first->report(ZygoteReport::Kind::ended, SIGKILL));
    for (int time = 0; time < 30; ++time) {
        const auto next = asked();
        ASSERT_TRUE(next) << time;
        lane_.on(next->report(ZygoteReport::Kind::not_forked, EAGAIN));
        ASSERT_TRUE(lane_.begins_at());
        EXPECT_EQ(lane_.state(), JobLane::State::starting);
        EXPECT_FALSE(asked());
        lane_.begin_if_due(*lane_.begins_at() - std::chrono::nanoseconds(1));
        EXPECT_FALSE(asked());
        lane_.begin_if_due(*lane_.begins_at());
    }
    auto last = asked();
    ASSERT_TRUE(last);
    EXPECT_EQ(last->jobs->waiting(), 1U);
    EXPECT_FALSE(lane_.begins_at());
    lane_.stop();
    lane_.on(last->report(ZygoteReport::Kind::ended, 0));
}

// Programs that kill workers by the report would kill others.
TEST_F(OneLane, ReportsNoPidThatItDoesNotKnow) {
    lane_.begin();
    const auto first = asked();
    ASSERT_TRUE(first);
    first->is_up();
    EXPECT_EQ(lane_.state(), JobLane::State::up);
    EXPECT_THAT(lane_.describe(), Not(HasSubstr("pid")));
    lane_.on(first->report(ZygoteReport::Kind::forked, 0));
    EXPECT_THAT(lane_.describe(), HasSubstr("up, pid 77"));
    lane_.on(first->report(ZygoteReport::Kind::ended, SIGKILL));
    const auto second = asked();
    ASSERT_TRUE(second);
    second->is_up();
    EXPECT_EQ(lane_.state(), JobLane::State::up);
    EXPECT_THAT(lane_.describe(), Not(HasSubstr("pid")));
    lane_.stop();
}

TEST_F(OneLane, AFirstProcessThatCannotBeHadIsAnError) {
    lane_.begin();
    const auto first = asked();
    ASSERT_TRUE(first);
    lane_.on(first->report(ZygoteReport::Kind::not_forked, EAGAIN));
    EXPECT_EQ(lane_.state(), JobLane::State::gone);
    EXPECT_THAT(lane_.describe_end(),
                AllOf(HasSubstr("worker 3 could not be forked"), HasSubstr("ulimit -u")));
}

// The worker ends its job while the lane is stopped, which closes the socket for arrays.
TEST_F(OneLane, AResultWhoseArraysAreCutOffAtTheEndIsNone) {
    lane_.begin();
    const auto process = asked();
    ASSERT_TRUE(process);
    lane_.on(process->report(ZygoteReport::Kind::forked, 0));
    give(1);
    lane_.stop();
    auto block = Block::make(100'000);
    ASSERT_TRUE(block);
    ResultHead head;
    head.job = 1;
    const auto sent = send_message(*process->results, process->socket.get(), head, "", {*block});
    ASSERT_TRUE(sent && *sent == Sent::yes);
    const auto result = lane_.next_result();
    ASSERT_TRUE(result);
    EXPECT_EQ(result->outcome, Outcome::not_run) << result->bytes;
    lane_.on(process->report(ZygoteReport::Kind::ended, 0));
}

TEST_F(OneLane, SaysWhyItHasKilledAWorker) {
    lane_.begin();
    const auto process = asked();
    ASSERT_TRUE(process);
    lane_.on(process->report(ZygoteReport::Kind::forked, 0));
    process->is_up();
    give(1);
    process->jobs->read();
    process->jobs->taken();
    ResultHead head;
    head.job = 99;  // which it was not given
    ASSERT_TRUE(send_message(*process->results, process->socket.get(), head, "", {}));
    EXPECT_FALSE(lane_.next_result());
    const auto killed = asked();
    ASSERT_TRUE(killed);
    EXPECT_EQ(killed->request.kind, Request::Kind::kill);
    lane_.on(process->report(ZygoteReport::Kind::ended, SIGKILL));
    const auto result = lane_.next_result();
    ASSERT_TRUE(result);
    EXPECT_THAT(result->bytes,
                AllOf(HasSubstr("had damaged the memory"), Not(HasSubstr("no memory was left"))));
    lane_.stop();
}

}  // namespace
}  // namespace wq::functions::pool
