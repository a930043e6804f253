#include "unit/factory/factory_fixture.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "factory/factory_process.h"
#include "factory/found_managers.h"

namespace wq::factory {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(FactoryTest, GrowsWithTheWorkAndLetsItShrink) {
    start();
    EXPECT_EQ(cycle().submitted, 0);
    managers.tasks = 6;
    EXPECT_EQ(cycle().submitted, 5) << "few at once, as they may fail";
    EXPECT_EQ(batch.submissions, 1);
    EXPECT_EQ(cycle().submitted, 0) << "none has joined yet";
    begin_all();
    EXPECT_EQ(cycle().submitted, 1);
    begin_all();
    const CycleReport full = cycle();
    EXPECT_EQ(full.supply.connected, 6);
    EXPECT_EQ(full.submitted, 0);
    managers.tasks = 0;
    const std::map<std::string, FakeBatch::FakeJob> jobs = batch.jobs;
    for (const auto& [id, job] : jobs) end(id);  // idle, they leave
    for (int n = 0; n < 5; ++n) EXPECT_EQ(cycle().submitted, 0);
    EXPECT_EQ(opened->jobs().size(), 0u);
    EXPECT_EQ(said, "");
}

TEST_F(FactoryTest, RemovesWhatWaitsWhenTheWorkShrinks) {
    managers.tasks = 5;
    start();
    cycle();
    managers.tasks = 2;
    EXPECT_EQ(cycle().removed, 0) << "it may be back in a moment";
    EXPECT_EQ(cycle().removed, 3);
    EXPECT_EQ(batch.alive(), 2);
    managers.answers = false;
    managers.tasks = 0;
    for (int n = 0; n < 8; ++n)
        EXPECT_EQ(cycle().removed, 0) << "nothing is known of a manager that does not answer";
    EXPECT_THAT(said, HasSubstr("m: no answer"));
}

TEST_F(FactoryTest, ARunThatIsOverHasNoWorkers) {
    settings.min_workers = 2;
    managers.tasks = 5;
    start();
    cycle();
    managers.workers.insert(batch.jobs.begin()->first);
    batch.jobs.begin()->second.state = JobState::running;
    managers.answers = false;
    EXPECT_THAT(text_of(cycle(2min)),
                AllOf(HasSubstr("no answer since "), HasSubstr(" (then tasks 5 waiting, 0 on workers)")));
    batch.jobs.begin()->second.state = JobState::ended;
    const CycleReport silent = cycle(1min);
    EXPECT_EQ(silent.submitted, 0) << "for a manager that may be gone";
    EXPECT_EQ(silent.held, "no manager answers");
    managers.ended = Ended::resumable;
    EXPECT_EQ(cycle().removed, 0) << "its workers wait for it";
    EXPECT_EQ(batch.alive(), 4);
    managers.ended = Ended::over;
    const CycleReport over = cycle(1s);
    EXPECT_EQ(over.removed, 4);
    EXPECT_EQ(batch.alive(), 0);
    EXPECT_THAT(text_of(over), HasSubstr("the run has ended; its workers are removed; "));
    for (int n = 0; n < 5; ++n) EXPECT_EQ(cycle().submitted, 0) << "not the fewest either";
    managers.ended = Ended::no;
    managers.answers = true;
    managers.workers.clear();
    EXPECT_EQ(cycle().submitted, 5) << "the next run";
}

// As on a machine with CCTools' package, whose programs have the same names.
TEST(FindFactoryProgram, PassesOverThoseOfCCTools) {
    const test::Folder folder;
    const auto program = [&](const std::string& name, const std::string& says) {
        std::filesystem::create_directory(folder / name);
        const std::string path = folder / name + "/work_queue_factory";
        std::ofstream(path) << "#!/bin/sh\necho \"" << says << "\"\n";
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
        return path;
    };
    program("cctools", "work_queue_factory version 9.9.0 (released today)");
    const std::string ours = program("ours", "work_queue_factory 1.2.3");
    EXPECT_EQ(factory_program_in({folder / "cctools", folder / "ours"}), ours);
    EXPECT_EQ(factory_program_in({folder / "cctools"}), std::nullopt);
    EXPECT_TRUE(find_factory_program());  // that of this build
}

TEST_F(FactoryTest, AsksTheBatchSystemOnceAMinute) {
    managers.tasks = 50;
    start();
    for (int n = 0; n < 600; ++n) cycle(1s), begin_all();
    EXPECT_LE(batch.queries, 10);
    EXPECT_GE(batch.queries, 9);
}

TEST_F(FactoryTest, BacksOffFromASystemThatRefuses) {
    managers.tasks = 5;
    batch.refuses = true;
    start();
    const CycleReport first = cycle();
    EXPECT_THAT(first.held, HasSubstr("invalid partition; again in "));
    for (int n = 0; n < 3600 / 10; ++n) cycle(10s);
    EXPECT_EQ(said, "nothing was submitted: invalid partition\n") << "once";
    EXPECT_GE(batch.submissions, 6);
    EXPECT_LE(batch.submissions, 12) << "in an hour";
    batch.refuses = false;
    for (int n = 0; n < 20; ++n) cycle(60s);
    EXPECT_EQ(batch.alive(), 5);
}

TEST_F(FactoryTest, ASubmissionThatTimedOutAndCameThroughIsNotRepeated) {
    managers.tasks = 5;
    batch.times_out = true;
    start();
    cycle();
    batch.times_out = false;
    for (int n = 0; n < 20; ++n) cycle();
    EXPECT_EQ(batch.alive(), 5);
    EXPECT_EQ(batch.submissions, 1);
    begin_all();
    EXPECT_EQ(cycle().supply.connected, 5);
}

TEST_F(FactoryTest, JobsThatAreListedLateAreNotSubmittedAgain) {
    managers.tasks = 5;
    batch.times_out = batch.lists_late = true;
    start();
    cycle();
    batch.times_out = false;
    cycle(30s), cycle(30s);
    batch.lists_late = false;
    for (int n = 0; n < 10; ++n) cycle();
    EXPECT_EQ(batch.alive(), 5);
    EXPECT_EQ(batch.submissions, 1);
}

TEST_F(FactoryTest, ARefusalIsNoDoubt) {
    managers.tasks = 5;
    batch.refuses = batch.cannot_find = true;
    start();
    cycle();
    EXPECT_TRUE(opened->doubtful().empty());
    batch.refuses = false;
    cycle(5min);
    EXPECT_EQ(batch.alive(), 5);
    EXPECT_EQ(batch.finds, 0);
}

TEST_F(FactoryTest, ADoubtThatNobodySettlesDoesNotLastForEver) {
    managers.tasks = 5;
    batch.times_out = batch.cannot_find = true;
    start();
    cycle();
    batch.jobs.clear();
    batch.times_out = false;
    for (int n = 0; n < 30; ++n) cycle(30s);
    EXPECT_EQ(batch.alive(), 5);
    EXPECT_THAT(said, HasSubstr("counts as not submitted"));
}

TEST_F(FactoryTest, AManagerThatIsStartedAgainGetsNoSecondSetOfWorkers) {
    managers.tasks = 5;
    start();
    cycle();
    begin_all();
    EXPECT_EQ(cycle(60s).supply.connected, 5);
    const std::set<std::string> connected = managers.workers;
    managers.workers.clear();  // they wait to connect again
    for (int n = 0; n < 10; ++n) EXPECT_EQ(cycle(30s).submitted, 0);
    managers.workers = connected;
    EXPECT_EQ(cycle().supply.starting, 0);
    EXPECT_EQ(batch.submissions, 1);
}

TEST_F(FactoryTest, AManagerThatIsSilentForLongGetsNoSecondSetOfWorkers) {
    settings.min_workers = 2;
    managers.tasks = 5;
    start();
    cycle();
    begin_all();
    cycle(60s);
    managers.answers = false;
    for (int n = 0; n < 30; ++n) EXPECT_EQ(cycle(30s).submitted, 0);
}

TEST_F(FactoryTest, JobsThatWillNotRunAreRemoved) {
    managers.tasks = 2;
    start();
    cycle();
    batch.jobs.at("1").state = JobState::stuck;
    cycle(60s);
    EXPECT_FALSE(batch.jobs.contains("1"));
    EXPECT_THAT(said, HasSubstr("job 1 ended before its worker reached a manager"));
}

TEST_F(FactoryTest, ItsEndRemovesTheRestIfSomeHaveJustEnded) {
    managers.tasks = 3;
    start();
    cycle();
    begin_all();
    cycle(60s);
    batch.removes_all_or_none = true;
    for (const char* id : {"1", "2", "3"}) end(id);
    EXPECT_TRUE(factory->end()) << "all have ended by themselves";
    EXPECT_TRUE(opened->ids().empty());
}

TEST_F(FactoryTest, ItsEndRemovesWhatIsKnownThoughSomethingIsInDoubt) {
    managers.tasks = 3;
    start();
    cycle();
    managers.tasks = 5;
    batch.times_out = batch.cannot_find = true;
    cycle();
    EXPECT_EQ(opened->ids().size(), 3u);
    EXPECT_EQ(batch.alive(), 5);
    EXPECT_FALSE(factory->end());
    EXPECT_EQ(batch.alive(), 2);
    batch.cannot_find = false;
    EXPECT_TRUE(factory->end());
    EXPECT_EQ(batch.alive(), 0);
}

TEST_F(FactoryTest, PausesAfterThreeFailedStartsAndShowsTheLog) {
    managers.tasks = 5;
    start();
    cycle();
    for (auto& [id, job] : batch.jobs) {
        job.state = JobState::ended;
        std::ofstream(folder / (job.name + "." + id + ".log"))
            << "starts on node3\n\nlibssl.so.3: cannot open\n";
    }
    cycle(60s);
    EXPECT_THAT(said, HasSubstr("job 1 ended before its worker reached a manager: FAILED"));
    EXPECT_THAT(said, HasSubstr("3 workers in a row failed to start"));
    EXPECT_THAT(said, HasSubstr("| libssl.so.3: cannot open"));
    const int before = batch.submissions;
    EXPECT_THAT(cycle().held, HasSubstr("workers in a row failed to start; again in "));
    EXPECT_EQ(batch.submissions, before);
    cycle(5min);
    EXPECT_EQ(batch.alive(), 1) << "one tries first";
    begin_all();
    cycle();
    EXPECT_EQ(batch.alive(), 5);
}

TEST_F(FactoryTest, JobsThatTheUserCancelsHaveNotFailed) {
    managers.tasks = 5;
    batch.detail = "CANCELLED";
    start();
    cycle();
    for (auto& [id, job] : batch.jobs) job.state = JobState::ended;
    cycle(60s);
    EXPECT_THAT(said, HasSubstr("job 1 was removed: CANCELLED"));
    EXPECT_EQ(batch.alive(), 5) << "they are replaced";
}

TEST_F(FactoryTest, AWorkerThatCameAndWentHasNotFailed) {
    managers.tasks = 5;
    start();
    for (int n = 0; n < 10; ++n) {
        cycle(60s);
        for (auto& [id, job] : batch.jobs) {
            job.state = JobState::ended;
            std::ofstream(folder / (job.name + "." + id + ".log"))
                << "work_queue_worker: connected to manager 10.0.0.1:9123\n";
        }
    }
    EXPECT_EQ(said, "");
    EXPECT_GE(batch.submissions, 9);
}

TEST_F(FactoryTest, RanksAreWorthAsMuchAsTheirCores) {
    managers.tasks = 20;
    managers.ranks = 2;
    start();
    const CycleReport report = cycle();
    EXPECT_EQ(report.supply.others, 16);
    EXPECT_EQ(report.decision.wanted, 4);
}

// Whose a worker is, no record says.
TEST_F(FactoryTest, WorkersOfARecordAreOursAsFarAsOurJobsRun) {
    managers.tasks = 8;
    managers.recorded_workers = 0;
    start();
    EXPECT_EQ(cycle().submitted, 5);
    for (auto& [id, job] : batch.jobs) job.state = JobState::running;
    managers.recorded_workers = 6;
    const CycleReport seen = cycle(2min);
    EXPECT_EQ(seen.supply.connected, 5);
    EXPECT_EQ(seen.supply.starting, 0);
    EXPECT_EQ(seen.supply.others, 1);
    EXPECT_EQ(seen.submitted, 2);
    EXPECT_THAT(text_of(seen),
                HasSubstr("8 waiting, 0 on workers (1 manager by catalog, at most 2m31s old); "));
}

TEST_F(FactoryTest, WorkersOfARecordAreForItsOwnTasksOnly) {
    managers.tasks = 8;
    managers.recorded_workers = 1'000'000;
    settings.size.cores = 4;
    start();
    EXPECT_EQ(cycle().supply.others, 2);
    managers.tasks = 0;
    EXPECT_EQ(cycle().supply.others, 0);
}

TEST_F(FactoryTest, ARecordThatLeadsNowhereIsNoReasonToSubmitOrToKeep) {
    managers.dead_record = true;
    start();
    const CycleReport nothing = cycle();
    EXPECT_EQ(nothing.unanswered, 1u);
    EXPECT_EQ(nothing.submitted, 0);
    managers.dead_record = false;
    managers.tasks = 5;
    EXPECT_EQ(cycle().submitted, 5);
    managers.dead_record = true;
    cycle();
    EXPECT_EQ(cycle().removed, 5);
}

TEST(ManagersToAsk, AreAllOfTheRegistryAndAHundredOfCatalogs) {
    net::contact::NamedManagers named;
    net::contact::NamedManager recorded;
    recorded.listing.contact.addresses = {"192.0.2.1"};
    recorded.record.emplace();
    named.managers.assign(103, recorded);
    recorded.record.reset();
    named.managers.push_back(recorded);
    std::vector<std::string> said;
    const auto found = to_ask(named, [&](const std::string& line) { said.push_back(line); });
    ASSERT_EQ(found.size(), 101u);
    EXPECT_FALSE(found[0].record);
    EXPECT_LT(found[1].dial.limits.most_frame_bytes, found[0].dial.limits.most_frame_bytes);
    EXPECT_THAT(said, ::testing::ElementsAre("3 managers of catalogs are left out: at most 100 are asked"));
}

TEST_F(FactoryTest, TasksThatNeedOtherFeaturesAreNotForItsWorkers) {
    managers.tasks = 20;
    managers.features = {"big"};
    start();
    const CycleReport report = cycle();
    EXPECT_EQ(report.unfit, 20u);
    EXPECT_EQ(report.submitted, 0);
}

TEST_F(FactoryTest, RemoteTasksAreForWorkersWithCoprocesses) {
    managers.tasks = 20;
    managers.features = {"coprocess:arithmetic"};
    settings.worker_extra_options = "--coprocess arithmetic.py";
    start();
    const CycleReport report = cycle();
    EXPECT_EQ(report.unfit, 0u);
    EXPECT_GT(report.submitted, 0);
}

TEST_F(FactoryTest, ItsEndRemovesWhatItSubmitted) {
    managers.tasks = 4;
    start();
    cycle();
    begin_all();
    cycle();
    managers.tasks = 8;
    cycle();
    EXPECT_EQ(batch.alive(), 8);
    batch.jobs["foreign"] = {JobState::running, "foreign"};
    ASSERT_TRUE(factory->end());
    EXPECT_EQ(batch.alive(), 1) << "not the jobs of others";
}

TEST_F(FactoryTest, StopsWithoutWorkForTheFactoryTimeout) {
    settings.factory_timeout = 10min;
    managers.tasks = 1;
    start();
    cycle(20min);
    EXPECT_FALSE(factory->timed_out(now.instant));
    managers.tasks = 0;
    cycle(9min);
    EXPECT_FALSE(factory->timed_out(now.instant));
    EXPECT_TRUE(factory->timed_out(now.instant + 1min));
}

// Killed at any call of the batch system and started again, it never has more jobs than it needs, and none
// that it does not know.
TEST_F(FactoryTest, KilledAtEachStepItSubmitsNothingTwice) {
    settings.workers_per_cycle = 0;
    for (int steps = 0; steps < 40; ++steps) {
        managers.tasks = 7;
        start();
        batch.steps_left = steps % 9;
        try {
            for (int n = 0; n < 6; ++n) {
                cycle();
                EXPECT_LE(batch.alive(), 7) << steps;
                if (n == 1) begin_all();
                if (n == 3) managers.tasks = 2;
            }
        } catch (const Killed&) {
        }
        batch.steps_left = -1;
        managers.tasks = 7;
        start();
        for (int n = 0; n < 8; ++n) cycle();
        EXPECT_EQ(batch.alive(), 7) << steps;
        EXPECT_EQ(opened->ids().size(), 7u) << steps;
        for (const auto& [id, job] : batch.jobs)
            EXPECT_TRUE(job.state == JobState::ended || opened->jobs().contains(id)) << steps;
        if (steps % 3 == 0) {
            const std::map<std::string, FakeBatch::FakeJob> jobs = batch.jobs;
            for (const auto& [id, job] : jobs) end(id);
        }
    }
}

TEST_F(FactoryTest, ABookWhoseLastLineIsTornIsRead) {
    managers.tasks = 3;
    start();
    cycle();
    opened.reset();
    factory.reset();
    std::ofstream(folder / "jobs", std::ios::app) << "intend wqWorker-torn 1";
    EXPECT_EQ(book().jobs().size(), 3u);
    EXPECT_EQ(book().doubtful().size(), 0u);
}

// Random histories: never above the maximum, no starvation, and it settles.
TEST_F(FactoryTest, RandomHistories) {
    settings.max_workers = 12;
    std::mt19937_64 random(17);
    const auto chance = [&](int percent) { return static_cast<int>(random() % 100) < percent; };
    start();
    for (int n = 0; n < 1000; ++n) {
        if (chance(10)) managers.tasks = random() % 30;
        if (chance(5)) managers.workers.clear();  // it is started again
        managers.answers = !chance(10);
        batch.refuses = chance(10);
        batch.times_out = chance(10);
        for (auto& [id, job] : batch.jobs) {
            if (job.state == JobState::pending && chance(20)) job.state = JobState::running;
            if (job.state == JobState::running && chance(50)) managers.workers.insert(id);
            if (job.state == JobState::running && chance(4))
                job.state = JobState::ended, managers.workers.erase(id);
        }
        if (chance(2)) start();
        cycle();
        ASSERT_LE(batch.alive(), 12) << n;
        if (n % 100 != 99) continue;
        managers.tasks = 9;
        managers.answers = true;
        batch.refuses = batch.times_out = false;
        for (int calm = 0; calm < 80; ++calm) cycle(60s), begin_all();
        ASSERT_EQ(batch.alive(), std::max<std::int64_t>(9, std::ssize(managers.workers))) << n;
        for (auto& [id, job] : batch.jobs) job.state = JobState::ended;
        managers.workers.clear();
    }
}

}  // namespace
}  // namespace wq::factory
