#include "factory/factory.h"

#include <gmock/gmock.h>

#include <fstream>
#include <set>

#include "support/folder.h"

namespace wq::factory {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

// Thrown at some step of a factory, as a SIGKILL there.
struct Killed {};

// A batch system whose jobs start, join, work and end when the test says so.
class FakeBatch final : public BatchSystem {
  public:
    struct FakeJob {
        JobState state = JobState::pending;
        std::string name;
    };

    Result<std::vector<std::string>> submit(const Submission& submission) override {
        step();
        ++submissions;
        if (refuses) return Error{ExitCode::unreachable, "invalid partition"};
        EXPECT_EQ(names.count(submission.name), 0u) << "names are unique";
        names.insert(submission.name);
        last = submission;
        std::vector<std::string> ids;
        for (std::int64_t n = 0; n < submission.count; ++n) {
            ids.push_back(std::to_string(++last_id));
            jobs[ids.back()] = {JobState::pending, submission.name};
        }
        step();
        if (times_out) return Error{ExitCode::interrupted, "Socket timed out"};
        return ids;
    }
    Result<std::vector<JobStatus>> status(const std::vector<std::string>& ids) override {
        step();
        ++queries;
        std::vector<JobStatus> all;
        for (const std::string& id : ids) {
            const auto job = jobs.find(id);
            all.push_back({id, job == jobs.end() ? JobState::unknown : job->second.state, detail});
        }
        return all;
    }
    Status remove(const std::vector<std::string>& ids) override {
        step();
        if (removes_all_or_none)
            for (const std::string& id : ids)
                if (!jobs.contains(id) || jobs.at(id).state == JobState::ended)
                    return Error{ExitCode::unreachable, "no such job: " + id};
        for (const std::string& id : ids) jobs.erase(id);
        step();
        return success();
    }
    Result<std::vector<std::string>> find(const Submission& submission) override {
        step();
        ++finds;
        if (cannot_find) return Error{ExitCode::unreachable, "no answer"};
        std::vector<std::string> ids;
        if (lists_late) return ids;
        for (const auto& [id, job] : jobs)
            if (job.name == submission.name && job.state != JobState::ended) ids.push_back(id);
        return ids;
    }

    std::int64_t alive() const {
        return std::count_if(jobs.begin(), jobs.end(),
                             [](const auto& job) { return job.second.state != JobState::ended; });
    }

    std::map<std::string, FakeJob> jobs;
    std::set<std::string> names;
    Submission last;
    int last_id = 0;
    int submissions = 0;
    int queries = 0;
    bool refuses = false;
    bool times_out = false;
    bool lists_late = false;  // find() does not see jobs yet
    bool cannot_find = false;
    bool removes_all_or_none = false;  // refuses if one of the jobs has ended
    std::string detail = "FAILED";
    int finds = 0;
    int steps_left = -1;  // until it is killed; negative: never

  private:
    void step() {
        if (steps_left >= 0 && steps_left-- == 0) throw Killed{};
    }
};

// A manager with tasks of one core; its workers are those of the running jobs, as the test says.
class FakeManagers final : public Managers {
  public:
    Result<std::vector<ManagerAnswer>> ask(const Settings&) override {
        if (!answers) return std::vector<ManagerAnswer>{{"m", Error{ExitCode::unreachable, "no answer"}}};
        wire::StatusReport report;
        if (tasks > 0) report.shapes.push_back({"default", {.cores = 1}, {}, features, tasks, 0});
        for (const std::string& job : workers)
            report.workers.push_back({WorkerId(0), "node", {1, 1000, 1000, 0}, 1, job, "mine", false, true});
        for (std::int64_t n = 0; n < ranks; ++n)
            report.workers.push_back({WorkerId(0), "node", {8, 1000, 1000, 0}, 1, "", "", true, true});
        return std::vector<ManagerAnswer>{{"m", report}};
    }

    std::uint64_t tasks = 0;
    std::vector<std::string> features;
    std::set<std::string> workers;
    std::int64_t ranks = 0;
    bool answers = true;
};

class FactoryTest : public ::testing::Test {
  protected:
    FactoryTest() { settings.min_workers = 0, settings.size.cores = 1; }

    JobBook book() { return JobBook::open(folder / "jobs", 90s, now.instant).or_throw(); }

    void start() {
        factory.reset();
        opened.emplace(book());
        FactoryOptions options;
        options.name = "mine";
        options.folder = folder.path();
        options.seed = ++seed;
        factory.emplace(options, settings, managers, batch, *opened, now);
        factory->say = [this](const std::string& line) { said += line + "\n"; };
    }

    CycleReport cycle(Duration later = 30s) {
        now.instant += later;
        now.wall += later / 1us;
        return factory->cycle(now);
    }

    // Jobs that wait begin, and their workers join.
    void begin_all() {
        for (auto& [id, job] : batch.jobs) {
            if (job.state == JobState::ended) continue;
            job.state = JobState::running;
            managers.workers.insert(id);
        }
    }
    void end(const std::string& id) {
        batch.jobs.at(id).state = JobState::ended;
        managers.workers.erase(id);
    }

    test::Folder folder;
    core::Now now{Instant(1h), 1'000'000};
    Settings settings;
    FakeManagers managers;
    FakeBatch batch;
    std::optional<JobBook> opened;
    std::optional<Factory> factory;
    std::string said;
    std::uint64_t seed = 0;
};

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

TEST_F(FactoryTest, TasksThatNeedOtherFeaturesAreNotForItsWorkers) {
    managers.tasks = 20;
    managers.features = {"big"};
    start();
    const CycleReport report = cycle();
    EXPECT_EQ(report.unfit, 20u);
    EXPECT_EQ(report.submitted, 0);
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
