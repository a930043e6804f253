#include "worker/signalled_ends.h"

#include <gtest/gtest.h>

#include <csignal>

namespace wq::worker {
namespace {

using engine::model::Ending;
using namespace std::chrono_literals;

const Instant kStart{};

node::launcher::TaskEnded by_signal(std::uint64_t task, int signal) {
    node::launcher::TaskEnded end{TaskId(task), 1, {}, {}};
    end.outcome.ending = Ending::signalled;
    end.outcome.signal = signal;
    return end;
}

node::launcher::TaskEnded by_exit(std::uint64_t task, int code) {
    node::launcher::TaskEnded end{TaskId(task), 1, {}, {}};
    end.outcome.exit_code = code;
    return end;
}

TEST(SignalledEnds, PassesOnAtOnceWhatNoStopExplains) {
    SignalledEnds ends;
    for (const auto& end :
         {by_exit(1, 0), by_exit(2, 3), by_signal(3, SIGSEGV), by_signal(4, SIGKILL), by_exit(5, 137)})
        ends.add(end, kStart);
    for (std::uint64_t task = 1; task <= 5; ++task) {
        const auto end = ends.take(kStart);
        ASSERT_TRUE(end);
        EXPECT_EQ(end->task, TaskId(task));
        EXPECT_NE(end->outcome.ending, Ending::killed);
    }
    EXPECT_FALSE(ends.wakeup());
}

TEST(SignalledEnds, AnEndAheadOfItsSignalWasStoppedAndHasNotFailed) {
    for (const auto& early : {by_signal(1, SIGTERM), by_exit(1, 128 + SIGTERM)}) {
        SignalledEnds ends;
        ends.add(early, kStart);
        EXPECT_FALSE(ends.take(kStart + SignalledEnds::wait_limit - 1ns));
        EXPECT_EQ(ends.wakeup(), kStart + SignalledEnds::wait_limit);
        ends.note_stop(SIGTERM);
        const auto end = ends.take(kStart);
        ASSERT_TRUE(end);
        EXPECT_EQ(end->outcome.ending, Ending::killed);
        EXPECT_FALSE(ends.wakeup());
    }
}

TEST(SignalledEnds, WithoutASignalToUsTheTaskHasFailed) {
    SignalledEnds ends;
    ends.add(by_signal(1, SIGTERM), kStart);
    const auto end = ends.take(kStart + SignalledEnds::wait_limit);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->outcome.ending, Ending::signalled);
}

TEST(SignalledEnds, AnotherSignalThanOursExplainsNothing) {
    SignalledEnds ends;
    ends.add(by_signal(1, SIGINT), kStart);
    ends.note_stop(SIGTERM);
    EXPECT_EQ(ends.take(kStart)->outcome.ending, Ending::signalled);
}

TEST(SignalledEnds, AfterTheStopNothingWaits) {
    SignalledEnds ends;
    ends.note_stop(SIGTERM);
    ends.add(by_signal(1, SIGTERM), kStart);
    ends.add(by_signal(2, SIGHUP), kStart);
    EXPECT_EQ(ends.take(kStart)->outcome.ending, Ending::killed);
    EXPECT_EQ(ends.take(kStart)->outcome.ending, Ending::signalled);
}

TEST(SignalledEnds, NothingWaitsOnceAllIsKilled) {
    SignalledEnds ends;
    ends.add(by_signal(1, SIGTERM), kStart);
    ends.stop_waiting();
    EXPECT_TRUE(ends.take(kStart));
}

}  // namespace
}  // namespace wq::worker
