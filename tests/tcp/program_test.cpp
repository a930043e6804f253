// Calls, commands and ranges of a program, with TCP workers.
#include "program_fixture.h"

#include <cstdlib>
#include <future>
#include <map>
#include <numeric>
#include <stdexcept>

#include "work_queue/functions.h"

namespace {

using wq::CallMode;

wq::Functions functions() {
    wq::Functions all;
    all.add("sum", [](const std::vector<double>& values) {
        return std::accumulate(values.begin(), values.end(), 0.0);
    });
    all.add("fail", [](const std::string& why) -> int { throw std::runtime_error(why); });
    all.add("crash", [] { std::abort(); });
    all.add("whoami", [] { return static_cast<std::int64_t>(::getpid()); });
    all.add("end_worker", [] { ::kill(::getpid(), SIGKILL); });
    all.add("variable", [](const std::string& name) {
        const char* value = std::getenv(name.c_str());
        return std::string(value == nullptr ? "none" : value);
    });
    all.add("odd_only", [](std::int64_t index) {
        if (index % 1000 == 999) throw std::runtime_error("index " + std::to_string(index));
    });
    return all;
}

class Program : public wq::testing::Program {};

TEST_F(Program, CallsInEveryModeComeBackWithTheirResults) {
    const pid_t worker = start_worker();
    std::map<std::int64_t, CallMode> modes;
    for (const CallMode mode : {CallMode::fork, CallMode::thread, CallMode::direct}) {
        const std::vector<double> values{1.5, 2, 3.25};
        modes[manager_->submit(wq::Task::call("sum", values).call_mode(mode).tag("sum"))] = mode;
        modes[manager_->submit(wq::Task::call("whoami").call_mode(mode).tag("whoami"))] = mode;
        modes[manager_->submit(wq::Task::call("fail", std::string("no luck")).call_mode(mode).tag("fail"))] =
            mode;
    }
    int seen = 0;
    while (auto task = manager_->wait()) {
        ++seen;
        const CallMode mode = modes.at(task->id());
        if (task->tag() == "sum") {
            ASSERT_TRUE(task->ok()) << task->reason();
            EXPECT_EQ(task->result_as<double>(), 6.75);
        } else if (task->tag() == "whoami") {
            ASSERT_TRUE(task->ok()) << task->reason();
            EXPECT_EQ(task->result_as<std::int64_t>() == worker, mode != CallMode::fork);
        } else {
            EXPECT_FALSE(task->ok());
            EXPECT_EQ(task->reason(), "no luck");
        }
    }
    EXPECT_EQ(seen, 9);
}

class LargeOutput : public wq::testing::Program {
  protected:
    LargeOutput() : wq::testing::Program(1u << 30) {}
};

TEST_F(LargeOutput, ComesInPartsAndIsTheTasksAlsoIfItFails) {
    start_worker();
    manager_->submit(wq::Task(
        "head -c 40000000 /dev/zero | tr '\\0' x; head -c 20000000 /dev/zero | tr '\\0' y >&2; exit 3"));
    manager_->submit(wq::Task("echo small"));
    for (int n = 0; n < 2; ++n) {
        const auto task = manager_->wait();
        ASSERT_TRUE(task.has_value());
        EXPECT_EQ(task->result(), wq::TaskResult::success) << task->reason();
        if (task->return_status() == 0) {
            EXPECT_EQ(task->output(), "small\n");
            EXPECT_EQ(task->output_view(), task->output());
            continue;
        }
        EXPECT_EQ(task->return_status(), 3);
        ASSERT_EQ(task->output_view().size(), 40'000'000U);
        EXPECT_EQ(task->output_view().find_first_not_of('x'), std::string_view::npos);
        EXPECT_EQ(task->output_view().data()[40'000'000], '\0');  // for programs in C
        EXPECT_EQ(task->error_output(), std::string(20'000'000, 'y'));
    }
}

TEST_F(Program, ACrashIsTheTasksFailureAndCostsTheWorkerNothing) {
    start_worker();
    manager_->submit(wq::Task::call("crash"));
    const auto crashed = manager_->wait();
    ASSERT_TRUE(crashed.has_value());
    EXPECT_EQ(crashed->result(), wq::TaskResult::signal);
    EXPECT_EQ(crashed->return_status(), SIGABRT);
    manager_->submit(wq::Task::call("sum", std::vector<double>{1, 2}));
    const auto after = manager_->wait();
    ASSERT_TRUE(after.has_value());
    EXPECT_EQ(after->result_as<double>(), 3);
    EXPECT_EQ(manager_->stats().workers_joined, 1);
}

// Two retries are three tries; an exit code other than 0 is none of them.
TEST_F(Program, ATaskThatKillsItsWorkersIsGivenUpAfterItsRetries) {
    manager_->submit(wq::Task::call("end_worker").call_mode(CallMode::direct).max_retries(2));
    for (int tries = 0; tries < 3; ++tries) {
        const pid_t worker = start_worker();
        ::waitpid(worker, nullptr, 0);
        children_.erase(worker);
    }
    const auto given_up = manager_->wait();
    ASSERT_TRUE(given_up.has_value());
    EXPECT_EQ(given_up->result(), wq::TaskResult::max_retries);
    EXPECT_STREQ(given_up->result_str(), "MAX_RETRIES");
    EXPECT_EQ(given_up->attempts(), 3u);
    EXPECT_NE(given_up->reason().find("lost 3 workers"), std::string::npos) << given_up->reason();
    start_worker();
    manager_->submit(wq::Task("exit 3").max_retries(5));
    const auto failed = manager_->wait();
    ASSERT_TRUE(failed.has_value());
    EXPECT_EQ(failed->result(), wq::TaskResult::success);
    EXPECT_EQ(failed->exit_status(), 3);
    EXPECT_EQ(failed->attempts(), 1u);
}

TEST_F(Program, FunctionsAndArgumentsThatDoNotFitAreNamed) {
    start_worker();
    manager_->submit(wq::Task::call("none", 1).call_mode(CallMode::direct));
    const auto unknown = manager_->wait();
    ASSERT_TRUE(unknown.has_value());
    EXPECT_FALSE(unknown->ok());
    EXPECT_NE(unknown->reason().find("none"), std::string::npos) << unknown->reason();
    EXPECT_NE(unknown->reason().find("sum"), std::string::npos) << unknown->reason();
    manager_->submit(wq::Task::call("sum", std::string("no list")).call_mode(CallMode::direct));
    const auto wrong = manager_->wait();
    ASSERT_TRUE(wrong.has_value());
    EXPECT_FALSE(wrong->ok());
    EXPECT_NE(wrong->reason().find("sum"), std::string::npos) << wrong->reason();
}

TEST_F(Program, ARangeIsWholeWithItsFailuresAlthoughWorkersAreKilled) {
    constexpr std::int64_t count = 20'000;
    pid_t worker = start_worker();
    manager_->submit_range("odd_only", 0, count, CallMode::direct);
    std::vector<int> told(count);
    std::set<std::int64_t> failed;
    int killed = 0;
    while (auto task = manager_->wait()) {
        for (const auto& [first, last] : task->progress().done)
            for (std::int64_t index = first; index < last; ++index) ++told[static_cast<std::size_t>(index)];
        if (task->kind() == wq::TaskKind::call) {
            ++told[static_cast<std::size_t>(task->index())];
            failed.insert(task->index());
            EXPECT_EQ(task->reason(), "index " + std::to_string(task->index()));
        }
        if (killed < 3) {
            ++killed;
            kill_worker(worker);
            worker = start_worker();
        }
    }
    EXPECT_EQ(std::count(told.begin(), told.end(), 1), count) << "told once each";
    EXPECT_EQ(failed.size(), count / 1000);
}

TEST_F(Program, VariablesAreSetAndTakenOutOfTheEnvironment) {
    ASSERT_EQ(::setenv("WQ_TEST_OF_WORKER", "there", 1), 0);
    start_worker();
    ::unsetenv("WQ_TEST_OF_WORKER");
    const std::string show = "echo ${WQ_TEST_OF_WORKER-none} ${CORES-none} ${MINE-none}";
    manager_->submit(wq::Task(show).tag("as it is"));
    manager_->submit(wq::Task(show)
                         .tag("changed")
                         .environment_variable("WQ_TEST_OF_WORKER", {})
                         .environment_variable("CORES", std::nullopt)
                         .environment_variable("NEVER_THERE", {})
                         .environment_variable("MINE", "set"));
    manager_->submit(wq::Task("echo $WORKERID").tag("its own").environment_variable("WORKERID", "mine"));
    manager_->submit(wq::Task::call("variable", "WQ_TEST_OF_WORKER").tag("call"));
    manager_->submit(wq::Task::call("variable", "WQ_TEST_OF_WORKER")
                         .tag("call without")
                         .environment_variable("WQ_TEST_OF_WORKER", {}));
    std::map<std::string, std::string> seen;
    while (auto task = manager_->wait()) {
        ASSERT_TRUE(task->ok()) << task->reason();
        seen[task->tag()] =
            task->kind() == wq::TaskKind::call ? task->result_as<std::string>() : task->output();
    }
    EXPECT_EQ(seen["as it is"], "there 1 none\n");
    EXPECT_EQ(seen["changed"], "none none set\n");
    EXPECT_EQ(seen["its own"], "mine\n");
    EXPECT_EQ(seen["call"], "there");
    EXPECT_EQ(seen["call without"], "none");
}

TEST_F(Program, WorkersKeepAsMuchOutputAsTheManagerWants) {
    start_worker();
    manager_->submit(wq::Task("head -c 12000000 /dev/zero"));
    auto task = manager_->wait();
    ASSERT_TRUE(task.has_value());
    EXPECT_EQ(task->output().size(), 12'000'000u);
    manager_->submit(wq::Task("head -c 20000000 /dev/zero"));
    task = manager_->wait();
    ASSERT_TRUE(task.has_value());
    EXPECT_LT(task->output().size(), (16u << 20) + 1000);
    EXPECT_NE(task->output().find("the limit is 16777216 bytes"), std::string::npos);
}

// Each line is one that the manager's own thread prints.
TEST_F(Program, WhoIsToldALineMayCallTheManager) {
    std::promise<std::int64_t> lost;
    wq::ManagerOptions options;
    options.port = 0;
    options.contact_file = folder_ + "/contact of the second";
    options.away_limit = 0;
    options.say = [&](const std::string& line) {
        if (line.find("was lost") == std::string::npos) return;
        manager_->submit(wq::Task("true"));
        manager_->cancel_all();
        lost.set_value(manager_->stats().tasks_cancelled);
    };
    manager_.emplace(options);
    const pid_t worker = start_worker({"--contact", options.contact_file});
    manager_->submit(wq::Task("true"));
    ASSERT_TRUE(manager_->wait().has_value());
    kill_worker(worker);
    EXPECT_EQ(lost.get_future().get(), 1);
}

TEST_F(Program, AtItsEndWorkersEndOrLookForOthersAsItSays) {
    ASSERT_EQ(::setenv("WORK_QUEUE_REGISTRY", (folder_ + "/registry").c_str(), 1), 0);
    wq::ManagerOptions options;
    options.port = 0;
    options.name = "shuts-down";
    options.contact_file = folder_ + "/contact of the named";
    options.say = [](const std::string&) {};
    const pid_t worker = start_worker({"-M", options.name, "-b", "1"});
    const auto who_works = [&] {
        manager_->submit(wq::Task::call("whoami").call_mode(CallMode::direct));
        const auto task = manager_->wait();
        return task && task->ok() ? task->result_as<std::int64_t>() : 0;
    };
    manager_.emplace(options);
    EXPECT_EQ(who_works(), worker);
    options.shutdown = true;
    manager_.reset();
    manager_.emplace(options);
    EXPECT_EQ(who_works(), worker) << "it stayed for the next manager of that name";
    manager_.reset();
    int status = -1;
    EXPECT_EQ(::waitpid(worker, &status, 0), worker);
    children_.erase(worker);
    EXPECT_EQ(status, 0);
    ::unsetenv("WORK_QUEUE_REGISTRY");
}

TEST_F(Program, IsFoundByItsName) {
    ASSERT_EQ(::setenv("WORK_QUEUE_REGISTRY", (folder_ + "/registry").c_str(), 1), 0);
    wq::ManagerOptions options;
    options.port = 0;
    options.name = "align-7";
    options.contact_file = folder_ + "/contact of the named";
    options.say = [](const std::string&) {};
    manager_.emplace(options);
    start_worker({"-M", "align-[0-9]", "--single-shot"});
    manager_->submit(wq::Task("echo found"));
    const auto task = manager_->wait();
    ASSERT_TRUE(task.has_value());
    EXPECT_EQ(task->output(), "found\n");
    manager_.reset();
    EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/registry"));
    ::unsetenv("WORK_QUEUE_REGISTRY");
}

TEST_F(Program, CommandsAndCallsOfManyWorkersEndOnceEach) {
    for (int index = 0; index < 3; ++index) start_worker();
    std::set<std::int64_t> open;
    for (int index = 0; index < 300; ++index) {
        open.insert(manager_->submit(wq::Task("echo " + std::to_string(index)).tag(std::to_string(index))));
        open.insert(manager_->submit(
            wq::Task::call("sum", std::vector<double>{1, 2}).call_mode(CallMode::direct).tag("sum")));
    }
    while (auto task = manager_->wait()) {
        EXPECT_EQ(open.erase(task->id()), 1u);
        ASSERT_TRUE(task->ok()) << task->reason();
        if (task->tag() != "sum") {
            EXPECT_EQ(task->output(), task->tag() + "\n");
        }
    }
    EXPECT_TRUE(open.empty());
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::string(argv[1]) == "worker") return wq::worker_main(argc - 1, argv + 1, functions());
    ::testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
