// Remote tasks of a program, on workers with coprocesses made by work_queue_serverize.
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "program_fixture.h"

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using wq::CallMode;
using wq::Task;
using wq::TaskResult;

constexpr const char* coprocess_name = "arithmetic_coprocess";
constexpr std::array modes{CallMode::direct, CallMode::thread, CallMode::fork};

std::vector<pid_t> children_of(pid_t pid) {
    std::vector<pid_t> all;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
        std::ifstream list(thread.path() / "children");
        for (pid_t child = 0; list >> child;) all.push_back(child);
    }
    return all;
}

std::string name_of(pid_t pid) {
    std::string name;
    std::ifstream("/proc/" + std::to_string(pid) + "/comm") >> name;
    return name;
}

class RemoteTasks : public wq::testing::Program {
  protected:
    // One file for all tests of this process.
    static const std::string& coprocess() {
        static const std::string path = [] {
            const std::string file = ::testing::TempDir() + "coprocess-" + std::to_string(::getpid()) + ".py";
            std::string command = std::string(SERVERIZE) + " --src " + REMOTE_FUNCTIONS + " --dest " + file;
            for (const char* const function :
                 {"my_sum",         "counted", "where",         "fails",    "crash",  "leave",
                  "leave_politely", "hang",    "tell_and_hang", "wait_for", "memory", "disk",
                  "here",           "read",    "write",         "variable", "child",  "not_json",
                  "text",           "echo",    "special",       "hang_as"})
                command += std::string(" --function ") + function;
            EXPECT_EQ(std::system(command.c_str()), 0);
            return file;
        }();
        return path;
    }
    static void TearDownTestSuite() { std::filesystem::remove(coprocess()); }

    pid_t start_with_coprocess(std::vector<std::string> more = {},
                               std::vector<std::string> environment = {}) {
        std::vector<std::string> words{"--contact", folder_ + "/contact", "--coprocess", coprocess()};
        words.insert(words.end(), more.begin(), more.end());
        return start_worker(words, std::move(environment));
    }
    static Task remote(const std::string& function, const std::string& arguments = "[]",
                       CallMode mode = CallMode::fork) {
        return Task::remote(function, coprocess_name, "{\"fn_args\": " + arguments + "}", mode);
    }
    Task run(const Task& task) {
        const auto id = manager_->submit(task);
        for (;;) {
            auto ended = manager_->wait(60);
            if (!ended) {
                ADD_FAILURE() << "no end of task " << id;
                return task;
            }
            if (ended->id() == id) return *ended;
        }
    }
    std::string output(const Task& task) { return run(task).output(); }
};

TEST_F(RemoteTasks, RunTheManualsExample) {
    start_with_coprocess();
    const Task sum = run(remote("my_sum", "[1, 2]"));
    EXPECT_TRUE(sum.ok()) << sum.reason();
    EXPECT_EQ(sum.output(), R"({"Result": 3, "StatusCode": 200})");
    EXPECT_EQ(sum.result(), TaskResult::success);
    EXPECT_EQ(sum.return_status(), 0);
    for (const char* const event :
         {R"({"fn_kwargs": {"x": 1, "y": 2}})", R"({"fn_args": [1], "fn_kwargs": {"y": 2}})",
          R"({"fn_args": [{"x": 1, "y": 2}]})"})
        EXPECT_EQ(output(Task::remote("my_sum", coprocess_name, event)), sum.output()) << event;
}

// What json.loads() of the output would give, where it is short.
std::string result_in(const std::string& output) {
    const std::string before = "{\"Result\": ";
    const std::size_t end = output.find(", \"StatusCode\"");
    return output.starts_with(before) && end != std::string::npos
               ? output.substr(before.size(), end - before.size())
               : output;
}

TEST_F(RemoteTasks, RunDirectlyOnAThreadAndInAChild) {
    start_with_coprocess({"--num_coprocesses", "1"});
    const auto where = [&](CallMode mode) {
        std::array<long, 2> pids{};
        std::array<char, 8> main{};
        const std::string text = result_in(output(remote("where", "[]", mode)));
        EXPECT_EQ(std::sscanf(text.c_str(), "[%ld, %ld, %7[a-z]", &pids[0], &pids[1], main.data()), 3)
            << text;
        return std::tuple(pids[0], pids[1], std::string(main.data()));
    };
    const auto [above, coprocess, main] = where(CallMode::direct);
    EXPECT_EQ(main, "true");
    EXPECT_EQ(where(CallMode::thread), std::tuple(above, coprocess, "false"));
    const auto [parent, child, child_main] = where(CallMode::fork);
    EXPECT_EQ(parent, coprocess);
    EXPECT_NE(child, coprocess);
    EXPECT_EQ(child_main, "true");
    const auto count = [&](CallMode mode) { return result_in(output(remote("counted", "[]", mode))); };
    EXPECT_EQ(count(CallMode::direct), "1");
    EXPECT_EQ(count(CallMode::thread), "2");
    EXPECT_EQ(count(CallMode::fork), "3");
    EXPECT_EQ(count(CallMode::fork), "3");
    EXPECT_EQ(count(CallMode::direct), "3");
    EXPECT_EQ(result_in(output(Task::remote("counted", coprocess_name,
                                            "{\"remote_task_exec_method\": \"direct\"}", CallMode::fork))),
              "4");
}

struct Failure {
    const char* function;
    const char* arguments;
    TaskResult result;
    int status;
    const char* reason;
};
constexpr std::array failures{
    Failure{"fails", "[]", TaskResult::success, 1, "ValueError: no luck"},
    Failure{"not_json", "[]", TaskResult::success, 1, "TypeError: Object of type set is not JSON"},
    Failure{"my_sum", "[1]", TaskResult::success, 1, "TypeError: my_sum() missing 1 required"},
    Failure{"nothing", "[]", TaskResult::success, 1, "no function nothing here; there is child, "},
    Failure{"leave_politely", "[4]", TaskResult::success, 1, "SystemExit: 4"},
    Failure{"leave", "[3]", TaskResult::success, 3, "exit 3 before the function returned"},
    Failure{"leave", "[0]", TaskResult::success, 1, "exit 0 before the function returned"},
    Failure{"crash", "[]", TaskResult::signal, SIGSEGV, "ended"},
};

TEST_F(RemoteTasks, FailAlone) {
    start_with_coprocess({"--num_coprocesses", "1"});
    for (const CallMode mode : modes) {
        for (const auto& [function, arguments, result, status, reason] : failures) {
            const Task failed = run(remote(function, arguments, mode));
            const std::string which =
                function + std::string(" mode ") + std::to_string(static_cast<int>(mode));
            EXPECT_FALSE(failed.ok()) << which;
            EXPECT_EQ(failed.result(), result) << which << ": " << failed.reason();
            EXPECT_EQ(failed.return_status(), status) << which;
            EXPECT_THAT(failed.reason(), HasSubstr(reason)) << which;
            EXPECT_THAT(failed.output(), AllOf(HasSubstr("{\"Result\":"), HasSubstr("500}"))) << which;
            EXPECT_EQ(failed.attempts(), 1u) << which;
            EXPECT_EQ(result_in(output(remote("my_sum", "[1, 2]", mode))), "3") << "after " << which;
        }
    }
}

TEST_F(RemoteTasks, ThatHangAreEnded) {
    start_with_coprocess({"--num_coprocesses", "1"});
    const std::string pipe = folder_ + "/pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    for (const CallMode mode : modes) {
        const Task late = run(remote("hang", "[]", mode).running_time_max(1));
        EXPECT_EQ(late.result(), TaskResult::max_running_time) << late.reason();
        EXPECT_THAT(late.output(), HasSubstr("timed out"));
        const auto id = manager_->submit(remote("tell_and_hang", "[\"" + pipe + "\"]", mode));
        std::ifstream(pipe).get();  // it runs
        const auto cancelled = manager_->cancel_by_taskid(id);
        ASSERT_TRUE(cancelled);
        EXPECT_EQ(cancelled->result(), TaskResult::unknown);
        EXPECT_EQ(result_in(output(remote("my_sum", "[1, 2]", mode))), "3");
    }
}

TEST_F(RemoteTasks, TakeCoprocessesAndNothingElse) {
    start_with_coprocess({"--num_coprocesses", "3"});
    std::vector<std::string> pipes;
    for (int i = 0; i < 4; ++i) {
        pipes.push_back(folder_ + "/pipe" + std::to_string(i));
        ASSERT_EQ(::mkfifo(pipes.back().c_str(), 0600), 0);
    }
    manager_->submit(Task("cat < " + pipes[0]).cores(1));  // fills the worker
    for (int i = 1; i < 4; ++i)
        manager_->submit(remote("wait_for", "[\"" + pipes[static_cast<std::size_t>(i)] + "\"]"));
    const auto more = manager_->submit(remote("my_sum", "[1, 2]"));
    std::vector<std::ofstream> all;
    for (const std::string& pipe : pipes) all.emplace_back(pipe);  // each waits until its task reads it
    EXPECT_EQ(manager_->task_state(more), wq::TaskState::ready);
    all.clear();
    std::set<std::int64_t> ended;
    while (ended.size() < 5) {
        const auto task = manager_->wait(60);
        ASSERT_TRUE(task);
        EXPECT_TRUE(task->ok()) << task->reason();
        EXPECT_TRUE(ended.insert(task->id()).second);
    }
}

TEST_F(RemoteTasks, RunOnlyWhereTheirCoprocessIs) {
    start_worker();
    EXPECT_TRUE(run(Task("true")).ok());
    const std::string other = folder_ + "/other.py";
    ASSERT_EQ(
        std::system((std::string(SERVERIZE) + " --src " + REMOTE_FUNCTIONS + " --function my_sum --dest " +
                     other + ".tmp && sed s/arithmetic_coprocess/other/ " + other + ".tmp > " + other)
                        .c_str()),
        0);
    start_worker({"--contact", folder_ + "/contact", "--coprocess", other});
    EXPECT_EQ(result_in(output(Task::remote("my_sum", "other", "{\"fn_args\": [1, 2]}"))), "3");
    const auto id = manager_->submit(remote("my_sum", "[1, 2]"));
    EXPECT_TRUE(run(Task("true")).ok());
    EXPECT_EQ(manager_->task_state(id), wq::TaskState::ready);
    start_with_coprocess();
    const auto ended = manager_->wait(60);
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->id(), id);
    EXPECT_TRUE(ended->ok()) << ended->reason();
    // As CCTools names the feature.
    Task named("true");
    named.feature(std::string("wq_worker_coprocess:") + coprocess_name);
    EXPECT_EQ(run(named).ok(), true);
}

TEST_F(RemoteTasks, GetEqualShares) {
    start_with_coprocess({"--num_coprocesses", "2", "--coprocess_cores", "5", "--coprocess-memory", "1001",
                          "--coprocess_disk=4", "--coprocess_gpus", "0"},
                         {"TMPDIR=" + folder_, "PMIX_RANK=3"});
    const auto variable = [&](const std::string& name) {
        return result_in(output(remote("variable", "[\"" + name + "\"]")));
    };
    EXPECT_EQ(variable("CORES"), "\"2.5\"");
    EXPECT_EQ(variable("OMP_NUM_THREADS"), "\"2\"");
    EXPECT_EQ(variable("MEMORY"), "\"500\"");
    EXPECT_EQ(variable("DISK"), "\"2\"");
    EXPECT_EQ(variable("GPUS"), "\"0\"");
    EXPECT_EQ(variable("WORK_QUEUE_COPROCESS_SECRET"), "null");
    EXPECT_THAT(variable("TMPDIR"), AllOf(HasSubstr(folder_ + "/"), HasSubstr("/tmp\"")));
    EXPECT_EQ(variable("PMIX_RANK"), "null");
}

TEST_F(RemoteTasks, ThatTakeMoreThanTheShareFail) {
    start_with_coprocess({"--num_coprocesses", "1", "--coprocess_cores", "8", "--coprocess_memory", "150",
                          "--coprocess_disk", "4"});
    const auto exceeds = [&](const char* function, const char* arguments, const char* reason) {
        const Task failed = run(remote(function, arguments));
        EXPECT_EQ(failed.result(), TaskResult::resource_exhaustion) << function;
        EXPECT_THAT(failed.reason(), HasSubstr(reason)) << function;
        EXPECT_EQ(result_in(output(remote("my_sum", "[1, 2]"))), "3") << "after " << function;
    };
    exceeds("memory", "[200]", "MB memory, its share is 150 MB");
    exceeds("disk", "[8]", "MB disk, its share is 4 MB");
    const Task with_files = run(remote("disk", "[8]").input_buffer("abc", "in"));
    EXPECT_EQ(with_files.result(), TaskResult::resource_exhaustion);
    EXPECT_THAT(with_files.reason(), HasSubstr("MB disk, its share is 4 MB"));
    EXPECT_EQ(run(remote("memory", "[200]")).limits_exceeded().memory, 150);
}

// Python's json module writes and reads all of this.
TEST_F(RemoteTasks, MayHaveMoreThanStrictJson) {
    start_with_coprocess({"--num_coprocesses", "1"});
    const std::string special = R"([NaN, Infinity, "\ud800"])";
    for (const CallMode mode : modes) {
        EXPECT_EQ(result_in(output(remote("echo", "[" + special + "]", mode))), special);
        const Task returned = run(remote("special", "[]", mode));
        EXPECT_TRUE(returned.ok()) << returned.reason();
        EXPECT_EQ(result_in(returned.output()), special);
    }
    const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
    const Task failed = run(remote("echo", "[" + deep + "]"));
    EXPECT_THAT(failed.reason(), HasSubstr("RecursionError"));
    EXPECT_EQ(result_in(output(remote("my_sum", "[1, 2]"))), "3");
}

TEST_F(RemoteTasks, AreReportedOnceTheirProcessHasEnded) {
    start_with_coprocess({"--num_coprocesses", "1"});
    for (const CallMode mode : modes) {
        const std::string path = folder_ + "/pid" + std::to_string(static_cast<int>(mode));
        const Task late = run(remote("hang_as", "[\"" + path + "\"]", mode).running_time_max(3));
        EXPECT_EQ(late.result(), TaskResult::max_running_time) << late.reason();
        pid_t pid = 0;
        std::ifstream(path) >> pid;
        ASSERT_GT(pid, 0);
        EXPECT_EQ(::kill(pid, 0), -1) << pid;
    }
}

// The launcher has the sandbox of the first attempt.
TEST_F(RemoteTasks, WithFilesRunAgainIfTheLauncherIsKilled) {
    const pid_t worker = start_with_coprocess({"--num_coprocesses", "1"});
    const std::string pipe = folder_ + "/pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    const auto id = manager_->submit(remote("wait_for", "[\"" + pipe + "\"]").input_buffer("abc", "in"));
    std::ofstream held(pipe);  // waits until the function reads it
    // The first attempt never ends: we hold the pipe. The second needs its coprocess.
    std::filesystem::rename(pipe, pipe + "-second");
    std::ofstream(pipe) << "done";
    for (const pid_t zygote : children_of(worker))
        for (const pid_t child : children_of(zygote))
            if (name_of(child) == "wq_launcher") ::kill(child, SIGKILL);
    const auto ended = manager_->wait(60);
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->id(), id);
    EXPECT_EQ(result_in(ended->output()), "\"done\"") << ended->reason();
    EXPECT_EQ(ended->attempts(), 2u);
}

TEST_F(RemoteTasks, HaveFiles) {
    start_with_coprocess({"--num_coprocesses", "1"});
    for (const CallMode mode : modes) {
        EXPECT_EQ(result_in(output(remote("here", "[]", mode))), "[]");
        EXPECT_EQ(result_in(output(remote("read", "[\"in\"]", mode).input_buffer("abc", "in"))), "\"abc\"");
        const std::string path = folder_ + "/out";
        EXPECT_TRUE(run(remote("write", "[\"out\", \"xyz\"]", mode).output_file(path, "out")).ok());
        std::string text;
        std::ifstream(path) >> text;
        EXPECT_EQ(text, "xyz");
        EXPECT_EQ(run(remote("here", "[]", mode).output_file(path, "out")).result(),
                  TaskResult::output_missing);
        EXPECT_EQ(result_in(output(remote("here", "[]", mode))), "[]");
        std::filesystem::remove(path);
    }
}

TEST_F(RemoteTasks, MayHaveLargeResults) {
    start_with_coprocess({"--num_coprocesses", "1"});
    for (const CallMode mode : modes)
        EXPECT_EQ(result_in(output(remote("text", "[3000000]", mode))).size(), 3000002u);
}

TEST_F(RemoteTasks, CallFunctionsOfCpp) {
    start_worker(
        {"--contact", folder_ + "/contact", "--coprocess", CPP_COPROCESS, "--coprocesses-total", "1"});
    const auto call = [&](const std::string& function, const std::string& arguments, CallMode mode) {
        Task task = Task::remote(function, "of_cpp", "{\"fn_args\": " + arguments + "}", mode);
        return run(function == "hang" ? task.running_time_max(1) : task);
    };
    const auto result = [&](const std::string& function, CallMode mode) {
        return call(function, "[]", mode).output();
    };
    for (const CallMode mode : modes) {
        EXPECT_EQ(call("half", "[3]", mode).output(), R"({"Result":1.5,"StatusCode":200})");
        EXPECT_EQ(call("fails", "[]", mode).output(), R"({"Result":"no luck","StatusCode":500})");
        EXPECT_THAT(call("half", "[\"x\"]", mode).reason(), HasSubstr("argument"));
        EXPECT_EQ(call("crash", "[]", mode).result(), TaskResult::signal);
        EXPECT_EQ(call("leave", "[3]", mode).return_status(), 3);
        EXPECT_EQ(call("hang", "[]", mode).result(), TaskResult::max_running_time);
    }
    const std::string coprocess = result("pid", CallMode::direct);
    EXPECT_EQ(result("pid", CallMode::thread), coprocess);
    EXPECT_NE(result("pid", CallMode::fork), coprocess);
    EXPECT_THAT(result("count", CallMode::direct), HasSubstr(":1,"));
    EXPECT_THAT(result("count", CallMode::thread), HasSubstr(":2,"));
    EXPECT_THAT(result("count", CallMode::fork), HasSubstr(":3,"));
    EXPECT_THAT(result("count", CallMode::direct), HasSubstr(":3,"));
}

// The coprocess is started anew until it has failed 10 times.
TEST_F(RemoteTasks, AreNotOfferedByAWorkerWhoseCoprocessIsBroken) {
    const std::string file = folder_ + "/breaks.py";
    std::filesystem::copy_file(coprocess(), file);
    start_worker({"--contact", folder_ + "/contact", "--coprocess", file, "--time-scale", "0.05"});
    EXPECT_TRUE(run(remote("my_sum", "[1, 2]")).ok());
    std::ofstream(file) << "raise SystemExit('broken')\n";
    EXPECT_FALSE(run(remote("leave", "[1]", CallMode::direct)).ok());
    const auto waits = manager_->submit(remote("my_sum", "[1, 2]"));
    while (run(Task("true")
                   .feature(std::string("coprocess:") + coprocess_name)
                   .running_time_max(60)
                   .end_time(std::chrono::duration_cast<std::chrono::microseconds>(
                                 std::chrono::system_clock::now().time_since_epoch())
                                 .count() +
                             2'000'000))
               .ok())
        continue;
    EXPECT_TRUE(run(Task("true")).ok());  // it has come back without
    EXPECT_EQ(manager_->task_state(waits), wq::TaskState::ready);
}

// Waits for the end of a process that is not ours.
void wait_for_end(pid_t pid) {
    const int process = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    pollfd ended{process, POLLIN, 0};
    EXPECT_TRUE(process < 0 || ::poll(&ended, 1, 90'000) == 1) << "process " << pid << " runs on";
    ::close(process);
}

TEST_F(RemoteTasks, OfForkLeaveNoProcesses) {
    start_with_coprocess({"--num_coprocesses", "1"});
    const pid_t stays = std::stoi(result_in(output(remote("child", "[]", CallMode::direct))));
    wait_for_end(std::stoi(result_in(output(remote("child")))));
    EXPECT_EQ(::kill(stays, 0), 0);
}

TEST_F(RemoteTasks, LeaveNothingWhenTheWorkerIsKilled) {
    for (const int signal : {SIGTERM, SIGKILL}) {
        const pid_t worker = start_with_coprocess({"--num_coprocesses", "1"});
        const pid_t left = std::stoi(result_in(output(remote("child", "[]", CallMode::direct))));
        ASSERT_EQ(::kill(left, 0), 0);
        const std::string where = result_in(output(remote("where", "[]", CallMode::direct)));
        stop(worker, signal);
        children_.erase(worker);
        wait_for_end(left);
        wait_for_end(std::stoi(where.substr(where.find(' ') + 1)));
        wait_for_end(std::stoi(where.substr(1)));  // the host, which removes the folder
        for (const auto& entry : std::filesystem::directory_iterator(folder_))
            EXPECT_FALSE(std::filesystem::exists(entry.path() / "stderr")) << entry.path();
    }
}

TEST_F(RemoteTasks, EndOnceWhileCoprocessesAreKilled) {
    constexpr std::size_t count = 200;
    start_with_coprocess({"--num_coprocesses", "4"});
    std::mt19937 random(7);
    std::map<std::int64_t, int> ends;
    for (std::size_t i = 0; i < count; ++i) manager_->submit(remote("where", "[]", modes[i % modes.size()]));
    std::size_t killed = 0;
    while (ends.size() < count) {
        const auto task = manager_->wait(60);
        ASSERT_TRUE(task) << ends.size();
        EXPECT_EQ(++ends[task->id()], 1);
        EXPECT_EQ(task->attempts(), 1u);
        if (!task->ok()) {
            ++killed;
            EXPECT_TRUE(task->result() == TaskResult::signal || task->result() == TaskResult::success)
                << task->reason();
            continue;
        }
        if (random() % 8 != 0) continue;
        // The coprocess: the caller, or of `fork` the caller's parent.
        const std::string text = result_in(task->output());
        const bool forked = modes[static_cast<std::size_t>(task->id() - 1) % modes.size()] == CallMode::fork;
        ::kill(std::stoi(text.substr(forked ? 1 : text.find(' ') + 1)), SIGKILL);
    }
    EXPECT_TRUE(manager_->empty());
    EXPECT_LT(killed, count / 4);
}

}  // namespace
