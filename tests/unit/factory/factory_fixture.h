// A factory with a batch system and managers that a test plays.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "factory/factory.h"
#include "support/folder.h"

namespace wq::factory {

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
    Result<Answers> ask(const PoolSettings&) override {
        if (ended != Ended::no) return Answers{{}, ended};
        if (!answers) return Answers{{{"m", Error{ExitCode::unreachable, "no answer"}}}};
        if (dead_record) {
            ManagerAnswer dead{"dead", Error{ExitCode::unreachable, "no answer"}};
            dead.by_record = RecordedAnswer{0, 9};
            return Answers{{dead}};
        }
        net::messages::StatusReport report;
        if (tasks > 0) report.shapes.push_back({"default", {.cores = 1}, {}, features, tasks, 0});
        if (recorded_workers) {
            ManagerAnswer answer{"m", report};
            answer.by_record = RecordedAnswer{0, *recorded_workers};
            return Answers{{answer}};
        }
        for (const std::string& job : workers)
            report.workers.push_back({WorkerId(0), "node", {1, 1000, 1000, 0}, 1, job, "mine", false, true});
        for (std::int64_t n = 0; n < ranks; ++n)
            report.workers.push_back({WorkerId(0), "node", {8, 1000, 1000, 0}, 1, "", "", true, true});
        return Answers{{{"m", report}}};
    }
    Ended ended = Ended::no;

    std::uint64_t tasks = 0;
    std::vector<std::string> features;
    std::set<std::string> workers;
    std::int64_t ranks = 0;
    bool answers = true;
    bool dead_record = false;                       // all there is: of a manager that is not reached
    std::optional<std::uint64_t> recorded_workers;  // only the catalog's record is known
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
    engine::model::Now now{Instant(1h), 1'000'000};
    PoolSettings settings;
    FakeManagers managers;
    FakeBatch batch;
    std::optional<JobBook> opened;
    std::optional<Factory> factory;
    std::string said;
    std::uint64_t seed = 0;
};

}  // namespace wq::factory
