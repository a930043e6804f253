// Inputs that workers create themselves, and watched outputs.
#include <sys/stat.h>

#include <cstdio>

#include "files_fixture.h"

namespace {

namespace fs = std::filesystem;
using wq::TaskResult;

class MadeFiles : public wq::testing::Files {};

// With tests/support/http_server.py, which ends with its stdin.
class WebFiles : public wq::testing::Files {
  protected:
    WebFiles() {
        ::mkfifo(here("port").c_str(), 0600);
        server_ = ::popen((HTTP_SERVER " > '" + here("port") + "'").c_str(),
                          "we");  // e: workers do not have it open
        std::ifstream(here("port")) >> port_;
    }
    ~WebFiles() override { ::pclose(server_); }

    std::string url(const std::string& path) const { return "http://127.0.0.1:" + port_ + path; }

  private:
    std::FILE* server_;
    std::string port_;
};

TEST_F(WebFiles, AUrlIsFetchedByTheWorker) {
    start_worker();
    const auto task = run(wq::Task("cat text moved").input_url(url("/text")).input_url(url("/moved")));
    EXPECT_EQ(task.output(), "from the web\nfrom the web\n") << task.reason();
    EXPECT_EQ(manager_->stats().bytes_sent, 0) << "not through the manager";
}

TEST_F(WebFiles, ACachedUrlIsFetchedOnceForAllTasksOfAWorker) {
    start_worker();
    for (int index = 0; index < 5; ++index)
        manager_->submit(wq::Task("cat count").input_url(url("/count"), "", {.cache = true}));
    while (const auto task = manager_->wait()) EXPECT_EQ(task->output(), "asked 1 times\n") << task->reason();
    EXPECT_EQ(run(wq::Task("cat count").input_url(url("/count"))).output(), "asked 2 times\n");
}

TEST_F(WebFiles, AnErrorOfTheServerIsAMissingInput) {
    start_worker();
    for (const std::string path : {"/none", "/cut"}) {
        const auto task = run(wq::Task("touch " + here("ran")).input_url(url(path)));
        EXPECT_EQ(task.result(), TaskResult::input_missing) << path;
        EXPECT_EQ(task.return_status(), 1);
        EXPECT_NE(task.reason().find(url(path)), std::string::npos) << task.reason();
    }
    EXPECT_FALSE(fs::exists(here("ran")));
    EXPECT_NE(run(wq::Task("true").input_url(url("/none"))).reason().find("404"), std::string::npos);
}

TEST_F(WebFiles, AUrlThatHangsHoldsUpNobodyElseAndIsGivenUp) {
    start_worker({"--contact", folder_ + "/contact", "--cores", "2", "--url-timeout", "1"});
    manager_->submit(wq::Task("true").tag("hangs").cores(1).input_url(url("/hang")));
    manager_->submit(wq::Task("true").tag("goes on").cores(1).input_buffer("x", "x"));
    EXPECT_EQ(manager_->wait()->tag(), "goes on");
    const auto task = manager_->wait();
    EXPECT_EQ(task->result(), TaskResult::input_missing);
    EXPECT_NE(task->reason().find("/hang"), std::string::npos) << task->reason();
}

TEST_F(WebFiles, ATaskWhoseUrlHangsCanBeCancelled) {
    start_worker();
    const auto id = manager_->submit(wq::Task("true").input_url(url("/hang")));
    while (manager_->task_state(id) != wq::TaskState::running) manager_->wait(1);
    ASSERT_TRUE(manager_->cancel_by_taskid(id).has_value());
    EXPECT_TRUE(run(wq::Task("true")).ok()) << "the worker has its core back";
}

TEST_F(MadeFiles, ACommandMakesItsFileOrWritesIt) {
    start_worker();
    const auto task = run(wq::Task("cat first second; ls third")
                              .environment_variable("NAME", "value")
                              .input_buffer("text\n", "text")
                              .input_command("cat text; echo \"$NAME\"", "first")
                              .input_command("tr a-z A-Z < text > %%", "second")
                              .input_command("mkdir %% && touch %%/inside", "third"));
    EXPECT_EQ(task.output(), "text\nvalue\nTEXT\ninside\n") << task.reason();
}

TEST_F(MadeFiles, ACachedCommandRunsOnceForAllTasksOfAWorker) {
    start_worker();
    for (const std::string& line : {"echo >> " + here("runs") + "; echo made",
                                    "echo >> " + here("runs") + "; mkdir %%; echo made > %%/inside"}) {
        for (int index = 0; index < 5; ++index)
            manager_->submit(wq::Task("cat it/inside || cat it").input_command(line, "it", {.cache = true}));
        while (const auto task = manager_->wait()) EXPECT_EQ(task->output(), "made\n") << task->reason();
    }
    EXPECT_EQ(read(here("runs")), "\n\n");
}

TEST_F(MadeFiles, ACommandThatFailsOrMakesNothingIsAMissingInput) {
    start_worker();
    const auto failed = run(wq::Task("true").input_command("echo half; echo the reason >&2; exit 3", "it"));
    EXPECT_EQ(failed.result(), TaskResult::input_missing);
    EXPECT_EQ(failed.return_status(), 1);
    EXPECT_EQ(failed.reason(), "it: its command ended with exit 3: the reason");
    const auto nothing = run(wq::Task("true").input_command("test -n %%", "it", {.cache = true}));
    EXPECT_EQ(nothing.result(), TaskResult::input_missing);
    EXPECT_EQ(nothing.reason(), "it: its command made nothing");
}

TEST_F(MadeFiles, ACommandIsHeldToTheTimeOfItsTask) {
    start_worker();
    const auto task = run(wq::Task("true").running_time_max(1).input_command("exec tail -f /dev/null", "it"));
    EXPECT_EQ(task.result(), TaskResult::max_running_time);
    EXPECT_EQ(task.reason(), "while its input 'it' was made");
    EXPECT_TRUE(run(wq::Task("true")).ok());
}

TEST_F(MadeFiles, AnEmptyFolderMayBeAnInput) {
    start_worker();
    wq::Task task("touch a/b/c && ls a/b");
    task.specify_directory("/nowhere", "a/b", false);
    const auto ended = run(std::move(task));
    EXPECT_EQ(ended.output(), "c\n") << ended.reason() << ended.error_output();
}

TEST_F(MadeFiles, TasksWithoutFilesHaveSandboxesToo) {
    start_worker();
    const std::string first = run(wq::Task("touch left; pwd; echo $WORK_QUEUE_SANDBOX")).output();
    const std::string second = run(wq::Task("pwd; echo $WORK_QUEUE_SANDBOX; ls")).output();
    EXPECT_NE(first, second);
    EXPECT_EQ(first.substr(0, first.find('\n') + 1) + first.substr(0, first.find('\n') + 1), first);
    EXPECT_EQ(second.substr(0, second.find('\n') + 1) + second.substr(0, second.find('\n') + 1), second);
}

// The task waits for the test, and the test for what it sees.
TEST_F(MadeFiles, WhatGrowsIsSeenWhileTheTaskRuns) {
    start_worker();
    for (const char* gate : {"one", "two"}) ASSERT_EQ(::mkfifo(here(gate).c_str(), 0600), 0);
    manager_->submit(wq::Task("echo first > log; read x < " + here("one") +
                              "; echo second >> log; read x < " + here("two") +
                              "; echo changed > log; echo x > other")
                         .output_file(here("log"), "", {.watch = true})
                         .output_file(here("other")));
    const auto until = [&](const std::string& text, const char* gate) {
        while (read(here("log")) != text) ASSERT_FALSE(manager_->wait(1)) << "it does not end by itself";
        std::ofstream(here(gate)) << "go\n";
    };
    until("first\n", "one");
    EXPECT_FALSE(fs::exists(here("other")));
    until("first\nsecond\n", "two");
    const auto task = manager_->wait();
    EXPECT_TRUE(task->ok()) << task->reason();
    EXPECT_EQ(read(here("log")), "changed\n") << "at the end all of it comes";
}

TEST_F(MadeFiles, MuchThatGrowsComesWithoutWaiting) {
    start_worker();
    const std::string go = here("go");
    ASSERT_EQ(::mkfifo(go.c_str(), 0600), 0);
    manager_->submit(wq::Task("yes | head -c 5000000 > log; read x < " + go)
                         .output_file(here("log"), "", {.watch = true}));
    const auto size = [&] {
        std::error_code none;
        const auto bytes = fs::file_size(here("log"), none);
        return none ? 0 : bytes;
    };
    while (size() < 5000000) ASSERT_FALSE(manager_->wait(1));
    std::ofstream(go) << "go\n";
    EXPECT_TRUE(manager_->wait()->ok());
    EXPECT_EQ(size(), 5000000u);
}

}  // namespace
