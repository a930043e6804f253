// What a manager says to workers over TCP that it does not know, or that do not keep to the protocol.
#include "engine/model/outcome.h"
#include "net/session/session_table.h"
#include "unit/manager/sessions_fixture.h"

namespace wq::manager {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(Sessions, AProgramThatAsksGetsTheStatusAndIsNoWorker) {
    Peer worker = peer();
    net::messages::Hello joins = hello("a");
    joins.job = "77_1";
    joins.features = {"factory:mine"};
    say(worker, {joins});
    Peer program = peer();
    const auto answers = say(program, {net::messages::StatusQuery{}});
    const auto* report = first<net::messages::StatusReport>(answers);
    ASSERT_NE(report, nullptr);
    EXPECT_TRUE(program.left);
    ASSERT_EQ(report->shapes.size(), 1u);
    EXPECT_EQ(report->shapes[0].ready + report->shapes[0].on_workers, 4u);
    EXPECT_EQ(report->shapes[0].on_workers, 1u) << "a task of unknown needs gets the worker";
    EXPECT_EQ(report->submitted, 4u);
    EXPECT_EQ(report->running, 1u);
    EXPECT_FALSE(report->ending);
    const net::messages::WorkerStatus known{
        WorkerId(3), "node", {2, 1000, 1000, 0}, report->shapes[0].on_workers, "77_1", "mine", false, true};
    EXPECT_THAT(report->workers, ::testing::ElementsAre(known));
    EXPECT_EQ(manager_.stats().workers_joined, 1);
    EXPECT_EQ(manager_.stats().workers_init, 0) << "the link is forgotten";
    EXPECT_THAT(said_, Not(HasSubstr("refused")));
}

TEST_F(Sessions, TheStatusOfAnotherVersionIsRefused) {
    expect_refused({net::messages::StatusQuery{1}},
                   "protocol 1, the manager " + std::to_string(net::messages::protocol_version));
    Peer worker = peer();
    say(worker, {hello("a")});
    const auto answers = say(worker, {net::messages::StatusQuery{}});
    EXPECT_NE(first<net::messages::Refused>(answers), nullptr) << "a worker is no such program";
}

TEST_F(Sessions, AWorkerIsNumberedBehindTheRanksAndLeasedTasks) {
    Peer worker = peer();
    const auto answers = say(worker, {hello("a")});
    const auto* welcome = first<net::messages::Welcome>(answers);
    ASSERT_NE(welcome, nullptr);
    EXPECT_EQ(welcome->worker, WorkerId(3));
    EXPECT_EQ(welcome->grace, std::chrono::seconds(58)) << "what it runs ends before it may run elsewhere";
    EXPECT_NE(first<net::messages::Lease>(answers), nullptr);
    Peer second = peer();
    EXPECT_EQ(first<net::messages::Welcome>(say(second, {hello("b")}))->worker, WorkerId(4));
}

engine::model::Now at(Duration since_start) {
    return {Instant{} + since_start, 0};
}

TEST_F(Sessions, WhoJoinsAndSaysNoHelloIsSentAwayInTime) {
    Peer silent = peer();
    Peer worker = peer();
    turn(at(std::chrono::seconds(1)));
    worker.end->send(manager_peer, net::messages::encode(hello("a")));
    turn(at(std::chrono::seconds(2)));
    EXPECT_LE(manager_.wakeup(), at(std::chrono::seconds(31)).instant);
    turn(at(std::chrono::seconds(30)));
    EXPECT_THAT(heard(silent), IsEmpty());
    turn(at(std::chrono::seconds(31)));
    const auto last = heard(silent);
    ASSERT_NE(first<net::messages::Dismiss>(last), nullptr);
    EXPECT_THAT(first<net::messages::Dismiss>(last)->why, HasSubstr("no hello within 30s"));
    EXPECT_FALSE(first<net::messages::Dismiss>(last)->for_good) << "a worker that was only slow calls again";
    EXPECT_TRUE(silent.left);
    EXPECT_THAT(said_, HasSubstr("it sent no hello within 30s"));
    turn(at(std::chrono::seconds(100)));
    heard(worker);
    EXPECT_FALSE(worker.left);
    EXPECT_EQ(manager_.reactor().workers().size(), 1U);
}

TEST_F(Sessions, WhoJoinedAndSaidNoHelloYetIsCountedApart) {
    Peer worker = peer();
    turn();
    EXPECT_EQ(manager_.stats().workers_init, 1);
    EXPECT_EQ(manager_.stats().workers_connected, 0);
    say(worker, {hello("a")});
    EXPECT_EQ(manager_.stats().workers_init, 0);
    EXPECT_EQ(manager_.stats().workers_connected, 1);
}

// A clock that ticks with each look at it.
TEST_F(Sessions, TasksResultsAndTheRestHaveTheirTimesApart) {
    manager_.clock = [ticks = Instant{}]() mutable { return ticks += std::chrono::milliseconds(1); };
    Peer worker = peer();
    const auto answers = say(worker, {hello("a")});
    const engine::model::ManagerStats first_turn = manager_.stats();
    EXPECT_GT(first_turn.time_send, 0);
    EXPECT_GT(first_turn.time_status_msgs, 0) << "of its hello";
    EXPECT_EQ(first_turn.time_receive, 0);
    say(worker, {net::messages::Ended{TaskId(0), 1, {}, {}}});
    const engine::model::ManagerStats second_turn = manager_.stats();
    EXPECT_GT(second_turn.time_receive, 0);
    EXPECT_EQ(second_turn.time_receive_good, second_turn.time_receive);
    EXPECT_EQ(second_turn.time_status_msgs, first_turn.time_status_msgs);
    say(worker, {net::messages::Beat{}});
    EXPECT_GT(manager_.stats().time_status_msgs, second_turn.time_status_msgs);
    EXPECT_EQ(manager_.stats().time_receive, second_turn.time_receive);
}

TEST_F(Sessions, AnotherVersionIsRefusedWithBothNumbers) {
    net::messages::Hello old = hello("a");
    for (const std::uint32_t version : {1U, 12U, net::messages::protocol_version + 1}) {
        old.version = version;
        expect_refused({old}, "protocol " + std::to_string(version) + ", the manager " +
                                  std::to_string(net::messages::protocol_version));
    }
}

TEST_F(Sessions, WhatAWorkerSaysOfItsProcessAndJobIsRecordedByOurClock) {
    net::messages::Hello in_job = hello("a");
    in_job.clock = 7'000'000'000'000'000;  // its clock is years ahead
    in_job.leaves_in = std::chrono::hours(2);
    in_job.process_age = std::chrono::minutes(5);
    in_job.job_age = std::chrono::hours(1);
    in_job.allocated_cores = 96;
    in_job.job = "77_1";
    const engine::model::Now now{Instant{}, 1'700'000'000'000'000};
    const records::journal::WorkerRecord record = recorded(in_job, now);
    constexpr std::int64_t hour = std::int64_t{3600} * micros_per_second;
    EXPECT_EQ(record.joined_us, now.wall);
    EXPECT_EQ(record.process_started_us, now.wall - hour / 12);
    EXPECT_EQ(record.job_started_us, now.wall - hour);
    EXPECT_EQ(record.job_ends_us, now.wall + 2 * hour);
    EXPECT_EQ(record.allocated_cores, 96);
    EXPECT_EQ(record.job, "77_1");
    const records::journal::WorkerRecord alone = recorded(hello("b"), now);
    EXPECT_EQ(alone.process_started_us, 0);
    EXPECT_EQ(alone.job_started_us, 0);
    EXPECT_EQ(alone.job_ends_us, 0);
    EXPECT_EQ(alone.allocated_cores, 0);
}

TEST_F(Sessions, WhatAWorkerSaysOfItsProcessAndJobIsBounded) {
    const engine::model::Now now{Instant{}, 1'700'000'000'000'000};
    int name = 0;
    for (const std::int64_t said : {INT64_MIN, std::int64_t{-5}, INT64_MAX}) {
        net::messages::Hello strange = hello("strange" + std::to_string(++name));
        strange.leaves_in = strange.process_age = strange.job_age = Duration(said);
        strange.allocated_cores = said;
        const records::journal::WorkerRecord record = recorded(strange, now);
        for (const WallMicros began : {record.process_started_us, record.job_started_us}) {
            EXPECT_GT(began, 0);
            EXPECT_LE(began, now.wall);
        }
        EXPECT_GE(record.job_ends_us, now.wall);
        EXPECT_LT(record.job_ends_us, 2 * now.wall);
        EXPECT_EQ(record.allocated_cores, said < 0 ? 0 : engine::model::most_size);
    }
}

TEST_F(Sessions, WhatMakesNoSenseIsRefused) {
    net::messages::Hello rank = hello("a");
    rank.rank = 0;
    expect_refused({rank}, "a rank cannot join over TCP");
    expect_refused({hello("")}, "no identity");
    net::messages::Hello huge = hello("a");
    huge.offers.cores = 2'000'000;
    expect_refused({huge}, "its offer is impossible");
    net::messages::Hello named = hello("a");
    named.host = "node\nTASK 1 DONE";
    expect_refused({named}, "name is invalid");
    net::messages::Hello able = hello("able");
    for (std::size_t each = 0; each <= engine::model::most_functions; ++each)
        able.features.push_back("function:" + std::to_string(each));
    expect_refused({able}, "more than 10000 functions");
    for (std::string& feature : able.features) feature.erase(0, 9);
    expect_refused({able}, "more than 1000 features");
    net::messages::Hello wordy = hello("wordy");
    wordy.features = {"function:" + std::string(engine::model::longest_feature + 1, 'f')};
    expect_refused({wordy}, "is too long");
}

TEST(Plausible, ThousandsOfFunctionsAreNoNonsense) {
    net::messages::Hello able;
    able.identity = able.host = "able";
    able.features.assign(engine::model::most_features, std::string(engine::model::longest_feature, 'f'));
    able.features.resize(
        engine::model::most_features + engine::model::most_functions,
        std::string(engine::model::function_feature) + std::string(engine::model::longest_feature, 'f'));
    EXPECT_EQ(net::session::nonsense_in(able), std::nullopt);
}

TEST_F(Sessions, TheRightMessageInTheWrongStateEndsThatConnection) {
    expect_refused({net::messages::Ended{TaskId(0), 1, {}, {}}}, "its first message was not a hello");
    expect_refused({net::messages::GivenBack{TaskId(0), 1}}, "its first message was not a hello");
    expect_refused({net::messages::Draining{}}, "its first message was not a hello");
    expect_refused({net::messages::Goodbye{}}, "its first message was not a hello");
    expect_refused({hello("x"), hello("x")}, "hello twice");
    expect_refused({hello("y"), net::messages::Tickets{}}, "only managers send");
    expect_refused({hello("z"), net::messages::Welcome{}}, "only managers send");
    EXPECT_EQ(manager_.reactor().workers().size(), 0U);
}

TEST_F(Sessions, GarbageEndsOnlyItsOwnConnection) {
    Peer good = peer();
    ASSERT_NE(first<net::messages::Welcome>(say(good, {hello("good")})), nullptr);
    Peer bad = peer();
    bad.end->send(manager_peer, "\xff\xfe garbage");
    turn();
    EXPECT_NE(first<net::messages::Refused>(heard(bad)), nullptr);
    EXPECT_THAT(heard(good), IsEmpty());
    EXPECT_FALSE(good.left);
}

TEST_F(Sessions, ASecondWorkerOfTheSameIdentityIsRefused) {
    Peer one = peer();
    ASSERT_NE(first<net::messages::Welcome>(say(one, {hello("same"), net::messages::Beat{}})), nullptr);
    say(one, {net::messages::Beat{}});
    expect_refused({hello("same")}, "another worker with this identity is connected");
    net::messages::Hello guessed = hello("same");
    guessed.resume = "guessed";
    expect_refused({guessed}, "another worker with this identity is connected");
    EXPECT_FALSE(one.left);
}

// The half-open link is given up, what the worker still holds stays leased, its answers count on.
TEST_F(Sessions, WithItsTokenItTakesItsSessionOver) {
    Peer one = peer();
    const auto answers = say(one, {hello("same")});
    const net::messages::Welcome welcome = *first<net::messages::Welcome>(answers);
    const net::messages::Lease lease = *first<net::messages::Lease>(answers);
    EXPECT_EQ(first<net::messages::Acknowledged>(
                  say(one, {net::messages::Ended{lease.task, lease.attempt, {}, {}}}))
                  ->answers,
              1U);
    Peer again = peer();
    net::messages::Hello back = hello("same");
    back.resume = welcome.resume;
    const auto resumed = say(again, {back});
    const auto* second = first<net::messages::Welcome>(resumed);
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(second->worker, welcome.worker);
    EXPECT_EQ(second->resume, welcome.resume);
    EXPECT_EQ(second->answers_received, 1U);
    heard(one);
    EXPECT_TRUE(one.left);
    EXPECT_EQ(manager_.reactor().workers().size(), 1U);
    EXPECT_THAT(said_, HasSubstr(" reconnected"));
}

// The workers of a host are those too whose link is cut just now.
TEST_F(Sessions, WhoIsAwayWhenItsHostIsDrainedComesBackDrained) {
    Peer one = peer();
    const auto answers = say(one, {hello("a"), net::messages::Beat{}});
    net::messages::Hello back = hello("a");
    back.resume = first<net::messages::Welcome>(answers)->resume;
    std::vector<net::messages::Message> words;
    for (const net::messages::Message& message : answers)
        if (const auto* lease = std::get_if<net::messages::Lease>(&message)) {
            back.holding.emplace_back(lease->task, lease->attempt);
            words.emplace_back(net::messages::Ended{lease->task, lease->attempt, {}, {}});
        }
    ASSERT_FALSE(words.empty());
    network_.cut(manager_peer, ids_.back(), "cut");
    turn();
    EXPECT_EQ(manager_.release().drain("node", true, {}), 1U);
    turn();
    Peer again = peer();
    EXPECT_EQ(first<net::messages::Lease>(say(again, {back})), nullptr);
    const auto last = say(again, words);
    EXPECT_EQ(first<net::messages::Lease>(last), nullptr);
    ASSERT_NE(first<net::messages::Dismiss>(last), nullptr);
    EXPECT_TRUE(first<net::messages::Dismiss>(last)->for_good);
    EXPECT_EQ(manager_.stats().workers_released, 1);
    EXPECT_EQ(recorder_.workers().back().departure, records::journal::Departure::asked);
}

TEST_F(Sessions, WhoLeavesByItselfGetsNothingMoreAlsoIfItsHostIsNoLongerDrained) {
    Peer one = peer();
    const auto answers = say(one, {hello("a")});
    const auto* lease = first<net::messages::Lease>(answers);
    ASSERT_NE(lease, nullptr);
    say(one, {net::messages::Draining{}});
    manager_.release().drain("node", true, {});
    manager_.release().drain("node", false, {});
    const auto last = say(one, {net::messages::Ended{lease->task, lease->attempt, {}, {}}});
    EXPECT_EQ(first<net::messages::Lease>(last), nullptr);
    EXPECT_EQ(first<net::messages::Dismiss>(last), nullptr);
}

TEST_F(Sessions, AHostThatIsNoLongerDrainedGetsTasksAgain) {
    Peer one = peer();
    const auto answers = say(one, {hello("a")});
    const auto* lease = first<net::messages::Lease>(answers);
    ASSERT_NE(lease, nullptr);
    manager_.release().drain("node", true, {});
    manager_.release().drain("node", false, {});
    EXPECT_NE(
        first<net::messages::Lease>(say(one, {net::messages::Ended{lease->task, lease->attempt, {}, {}}})),
        nullptr);
}

TEST_F(Sessions, WhoLeavesForWantOfTasksIsCountedAsThat) {
    for (const bool idle : {true, false}) {
        Peer worker = peer();
        say(worker,
            {hello(idle ? "idle" : "told"), net::messages::Draining{}, net::messages::Goodbye{"why", idle}});
        EXPECT_EQ(recorder_.workers().back().departure,
                  idle ? records::journal::Departure::idle_out : records::journal::Departure::asked);
        EXPECT_EQ(recorder_.workers().back().rank, records::journal::no_rank);
    }
    EXPECT_EQ(manager_.stats().workers_idled_out, 1);
    EXPECT_EQ(manager_.stats().workers_released, 0);
}

TEST_F(Sessions, ResultsAreBytesReceivedToo) {
    Peer worker = peer();
    const net::messages::Lease lease = *first<net::messages::Lease>(say(worker, {hello("a")}));
    engine::model::Output output{"out", "err"};
    output.result = "12345";
    say(worker, {net::messages::Ended{lease.task, lease.attempt, {}, output}});
    EXPECT_EQ(manager_.stats().bytes_received, 11);
}

TEST_F(Sessions, OutputAboveTheLimitIsCutWhateverTheWorkerSends) {
    Peer worker = peer();
    const net::messages::Lease lease = *first<net::messages::Lease>(say(worker, {hello("a")}));
    const std::uint64_t limit = options().output_limit;
    say(worker,
        {net::messages::Ended{lease.task, lease.attempt, {}, {std::string(limit + 1000, 'x'), "e", {}}}});
    recorder_.write();
    ASSERT_EQ(recorder_.written().size(), 1U);
    const engine::model::Output& output = recorder_.written().front().output;
    EXPECT_EQ(output.out.substr(limit), "\n" + engine::model::cut_marker("stdout", 1000, limit) + "\n");
    EXPECT_EQ(output.err, "e");
}

TEST_F(Sessions, StreamsAreTakenOnlyOfWhoHoldsTheTask) {
    Peer worker = peer();
    const net::messages::Lease lease = *first<net::messages::Lease>(say(worker, {hello("a")}));
    Peer stranger = peer();
    say(stranger, {hello("b")});
    const net::messages::OutputPart part{lease.task, lease.attempt, 0, "x", true};
    EXPECT_NE(first<net::messages::OutputsKept>(say(stranger, {part})), nullptr) << "it is not expected";
    EXPECT_NE(first<net::messages::TakeOutput>(say(worker, {part})), nullptr);
}

TEST_F(Sessions, TimesOfAClockHoursAheadAreOurs) {
    Peer worker = peer();
    net::messages::Hello ahead = hello("a");
    ahead.clock = std::int64_t{7} * 3600 * 1'000'000;
    const net::messages::Lease lease = *first<net::messages::Lease>(say(worker, {ahead}));
    engine::model::Outcome outcome;
    outcome.files.inputs_there_us = ahead.clock + 3;
    outcome.started_us = ahead.clock + 5;
    outcome.files.outputs_there_us = ahead.clock + 8;
    say(worker, {net::messages::Ended{lease.task, lease.attempt, outcome, {}}});
    recorder_.write();
    ASSERT_EQ(recorder_.written().size(), 1U);
    const engine::model::Outcome& ours = recorder_.written().front().record.outcome;
    EXPECT_EQ(ours.started_us, 5);
    EXPECT_EQ(ours.files, (engine::model::FileTimes{3, 8}));
}

TEST_F(Sessions, TimesThatAWorkerDoesNotKnowStayUnknown) {
    Peer worker = peer();
    net::messages::Hello ahead = hello("a");
    ahead.clock = std::int64_t{7} * 3600 * 1'000'000;
    const net::messages::Lease lease = *first<net::messages::Lease>(say(worker, {ahead}));
    engine::model::Outcome never_started;
    never_started.ending = engine::model::Ending::input_missing;
    never_started.files.outputs_there_us = 5;  // long before our clock's beginning
    say(worker, {net::messages::Ended{lease.task, lease.attempt, never_started, {}}});
    recorder_.write();
    ASSERT_EQ(recorder_.written().size(), 1U);
    const engine::model::Outcome& ours = recorder_.written().front().record.outcome;
    EXPECT_EQ(ours.started_us, 0);
    EXPECT_EQ(ours.files, engine::model::FileTimes{});
}

TEST_F(Sessions, WhoSaysTooMuchDelaysNobody) {
    Peer flood = peer();
    say(flood, {hello("flood")});
    const std::uint64_t before = manager_.reactor().stale_reports();
    const auto stale = [&] { return manager_.reactor().stale_reports() - before; };
    std::string frame;
    constexpr std::uint64_t reports = 100'000;
    for (std::uint64_t n = 0; n < reports; ++n)
        frame += net::messages::encode(net::messages::GivenBack{TaskId(n + 1000), 1});
    flood.end->send(manager_peer, frame);
    flood.end->send(manager_peer, net::messages::encode(net::messages::Draining{}));
    Peer worker = peer();
    const auto answers = say(worker, {hello("honest")});
    EXPECT_NE(first<net::messages::Welcome>(answers), nullptr);
    EXPECT_GT(stale(), 0U);
    EXPECT_LT(stale(), 5000U);
    EXPECT_LE(manager_.wakeup(), Instant{}) << "the rest is handled as soon as the others are served";
    for (int turns = 0; turns < 1000 && stale() < reports; ++turns) turn();
    turn();
    EXPECT_EQ(stale(), reports);
    EXPECT_GT(manager_.wakeup(), Instant{});
    flood.end->close(manager_peer);
    turn();
    EXPECT_EQ(connected_workers(), 1);
}

TEST(Plausible, WhatNoTaskUsesIsCut) {
    engine::model::Outcome outcome;
    outcome.wall_us = INT64_MIN;
    outcome.user_us = INT64_MAX;
    outcome.bytes_read = -1;
    outcome.files = {INT64_MIN, INT64_MAX};
    net::session::make_plausible(outcome);
    EXPECT_EQ(outcome.wall_us, 0);
    EXPECT_EQ(outcome.files.inputs_there_us, 0);
    EXPECT_LT(outcome.files.outputs_there_us, INT64_MAX / 1000);
    EXPECT_LT(outcome.user_us, INT64_MAX / 1000);
    EXPECT_EQ(outcome.bytes_read, 0);
}

}  // namespace
}  // namespace wq::manager
