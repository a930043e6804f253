// Files of tasks, from the program to TCP workers and back.
#include <sys/stat.h>

#include "files_fixture.h"

namespace {

namespace fs = std::filesystem;
using Files = wq::testing::Files;

TEST_F(Files, GoThereAndBack) {
    start_worker();
    const auto task = run(wq::Task("cat in more/buffer > out; ls; pwd; echo $WORK_QUEUE_SANDBOX")
                              .input_file(write("in", "from a file\n"))
                              .input_buffer("from a buffer\n", "more/buffer")
                              .output_file(here("results/result"), "out"));
    ASSERT_TRUE(task.ok()) << task.reason() << task.error_output();
    EXPECT_EQ(read(here("results/result")), "from a file\nfrom a buffer\n");
    std::istringstream said(task.output());
    std::string in, more, out, where, sandbox;
    said >> in >> more >> out >> where >> sandbox;
    EXPECT_EQ(in + more + out, "inmoreout") << "nothing else is in the sandbox";
    EXPECT_EQ(where, sandbox);
    run(wq::Task("true").input_buffer("", "x"));  // it was removed by then
    EXPECT_FALSE(fs::exists(sandbox));
}

TEST_F(Files, FoldersTravelWithAllInThem) {
    start_worker();
    write("tree/a/deep", "1");
    write("tree/run", "#!/bin/sh\necho ran\n");
    fs::permissions(here("tree/run"), fs::perms::owner_all);
    fs::create_symlink("a/deep", here("tree/link"));
    fs::create_directories(here("tree/empty"));
    const auto task = run(wq::Task("./tree/run && cp -a tree copy && echo more > copy/a/new")
                              .input_file(here("tree"))
                              .output_file(here("back"), "copy"));
    ASSERT_TRUE(task.ok()) << task.reason() << task.error_output();
    EXPECT_EQ(task.output(), "ran\n");
    EXPECT_EQ(read(here("back/a/deep")), "1");
    EXPECT_EQ(read(here("back/a/new")), "more\n");
    EXPECT_EQ(fs::read_symlink(here("back/link")), "a/deep");
    EXPECT_TRUE(fs::is_empty(here("back/empty")));
    EXPECT_NE(fs::status(here("back/run")).permissions() & fs::perms::owner_exec, fs::perms::none);
}

TEST_F(Files, LargeOnesComeWholeBothWays) {
    start_worker();
    const std::string text = large_text(10 << 20);
    const auto task = run(
        wq::Task("cp in out").input_file(write("large", text), "in").output_file(here("large.back"), "out"));
    ASSERT_TRUE(task.ok()) << task.reason();
    EXPECT_TRUE(read(here("large.back")) == text);
}

TEST_F(Files, PiecesAreOfTheBytesFromFirstToLast) {
    start_worker();
    const auto task = run(wq::Task("cat piece").input_piece(write("letters", "abcdefgh"), "piece", 2, 4));
    EXPECT_EQ(task.output(), "cde");
}

TEST_F(Files, CachedOnesTravelOnceAndAreNeverStale) {
    start_worker();
    const std::string path = write("shared", large_text(1 << 20));
    const auto sum = [&] {
        return run(wq::Task("cksum < shared; ls -l shared > x; true").input_file(path, "", {.cache = true}))
            .output();
    };
    const std::string first = sum();
    EXPECT_EQ(sum(), first);
    EXPECT_LT(manager_->stats().bytes_sent, 3 << 19) << "it was sent once";
    write("shared", "something else");
    EXPECT_NE(sum(), first);
    write("shared", large_text(1 << 20));
    EXPECT_EQ(sum(), first);
    EXPECT_LT(manager_->stats().bytes_sent, 3 << 19) << "the worker still has it";
}

TEST_F(Files, ATaskThatWritesToACachedOneSpoilsNoOthers) {
    start_worker();
    const std::string path = write("shared", "as it was\n");
    for (int round = 0; round < 2; ++round) {
        const auto task = run(wq::Task("cat shared; chmod u+w shared; echo spoilt >> shared")
                                  .input_file(path, "", {.cache = true}));
        EXPECT_EQ(task.output(), "as it was\n");
    }
    EXPECT_EQ(read(path), "as it was\n");
}

TEST_F(Files, AMissingInputStartsNothing) {
    start_worker();
    const auto task = run(wq::Task("touch /tmp/never").input_file(here("none")));
    EXPECT_EQ(task.result(), wq::TaskResult::input_missing);
    EXPECT_EQ(task.return_status(), -1);
    EXPECT_NE(task.reason().find("none: No such file or directory"), std::string::npos) << task.reason();
}

TEST_F(Files, OfAMissingOutputTheOthersCome) {
    start_worker();
    const auto task = run(wq::Task("echo made > made; exit 3")
                              .output_file(here("made"))
                              .output_file(here("not_made"))
                              .output_file(here("nor_this")));
    EXPECT_EQ(task.result(), wq::TaskResult::output_missing);
    EXPECT_NE(task.reason().find("it did not make 'not_made', 'nor_this'"), std::string::npos)
        << task.reason();
    EXPECT_EQ(task.return_status(), 3);
    EXPECT_EQ(read(here("made")), "made\n");
    EXPECT_FALSE(fs::exists(here("not_made")));
}

TEST_F(Files, OutputsOfFailureAndOfSuccessComeThenOnly) {
    start_worker();
    for (const int code : {0, 1}) {
        const std::string end = std::to_string(code);
        const auto task = run(wq::Task("echo > log; echo > product; exit " + end)
                                  .output_file(here("log" + end), "log", {.failure_only = true})
                                  .output_file(here("product" + end), "product", {.success_only = true}));
        EXPECT_EQ(task.result(), wq::TaskResult::success);
        EXPECT_EQ(fs::exists(here("log" + end)), code == 1);
        EXPECT_EQ(fs::exists(here("product" + end)), code == 0);
    }
}

TEST_F(Files, AnOutputThatCannotBeStoredIsSaid) {
    start_worker();
    write("file", "");
    const auto task = run(wq::Task("echo > out").output_file(here("file/below"), "out"));
    EXPECT_EQ(task.result(), wq::TaskResult::output_transfer_error);
    EXPECT_NE(task.reason().find("here/file"), std::string::npos) << task.reason();
}

TEST_F(Files, APlatformIsTheWorkers) {
    start_worker();
    write("tool.Linux.x86_64", "right");
    const auto task = run(wq::Task("cat tool").input_file(here("tool.$OS.$ARCH"), "tool"));
    EXPECT_EQ(task.output(), "right") << task.reason();
}

TEST_F(Files, AWorkerCanBeToldItsPlatform) {
    start_worker({"--contact", folder_ + "/contact", "--os", "Plan9", "--arch", "pdp11"});
    write("tool.Plan9.pdp11", "right");
    const auto task = run(wq::Task("cat tool").input_file(here("tool.$OS.$ARCH"), "tool"));
    EXPECT_EQ(task.output(), "right") << task.reason();
}

TEST_F(Files, NamesThatAreNoneAreRefused) {
    for (const std::string name : {"/absolute", "../out", "a/../b", "", "."})
        EXPECT_EQ(manager_->submit(wq::Task("x").input_buffer("", name)), 0) << name;
    EXPECT_EQ(manager_->submit(wq::Task("x").input_buffer("", "a").input_buffer("", "./a")), 0);
    EXPECT_TRUE(manager_->empty());
}

TEST_F(Files, AnOutputMayLieInAFolderThatIsAnInput) {
    start_worker();
    write("data/a", "1");
    for (const bool cached : {false, true}) {
        const auto task = run(wq::Task("cp data/a data/b")
                                  .input_file(here("data"), "", {.cache = cached})
                                  .output_file(here("b"), "data/b"));
        ASSERT_TRUE(task.ok()) << task.reason() << task.error_output();
        EXPECT_EQ(read(here("b")), "1");
        fs::remove(here("b"));
    }
}

TEST_F(Files, OneThatCannotBeStoredCostsTheOthersNothing) {
    start_worker();
    write("file", "");
    const auto task = run(wq::Task("echo > bad; echo good > good")
                              .output_file(here("file/below"), "bad")
                              .output_file(here("good")));
    EXPECT_EQ(task.result(), wq::TaskResult::output_transfer_error);
    EXPECT_EQ(read(here("good")), "good\n");
}

TEST_F(Files, OfAKilledTaskNothingComes) {
    start_worker();
    const auto task = run(wq::Task("echo half > out; exec tail -f /dev/null")
                              .running_time_max(1)
                              .output_file(here("out"), "", {.success_only = true}));
    EXPECT_EQ(task.result(), wq::TaskResult::max_running_time);
    EXPECT_FALSE(fs::exists(here("out")));
}

TEST_F(Files, OfManyTasksThatShareAFileItIsReadOnce) {
    start_worker();
    write("shared", large_text(8 << 20));
    for (int index = 0; index < 50; ++index)
        manager_->submit(wq::Task("cksum < shared").input_file(here("shared"), "", {.cache = true}));
    std::set<std::string> sums;
    while (const auto task = manager_->wait()) sums.insert(task->output());
    EXPECT_EQ(sums.size(), 1u);
    EXPECT_LT(manager_->stats().bytes_sent, 9 << 20);
}

// Workers of one host: it is sent to one of them, and the others read it there.
TEST_F(Files, ToANodeAFileIsSentOnce) {
    write("shared", large_text(4 << 20));
    for (int index = 0; index < 4; ++index) start_worker();
    while (manager_->stats().workers_connected < 4) manager_->wait(1);
    const std::string wait_for_all = "touch " + here("began.") + "$$; until test $(ls " + here("") +
                                     " | grep -c began) = 4; do :; done; cksum < shared";
    for (int index = 0; index < 4; ++index)
        manager_->submit(wq::Task(wait_for_all).input_file(here("shared"), "", {.cache = true}));
    std::set<std::string> sums, hosts;
    while (const auto task = manager_->wait()) {
        sums.insert(task->output());
        hosts.insert(task->host());
    }
    EXPECT_EQ(sums.size(), 1u);
    EXPECT_EQ(hosts.size(), 4u) << "each on its own worker";
    EXPECT_LT(manager_->stats().bytes_sent, 5 << 20);
}

// The worker that has the file, and is asked for it, dies.
TEST_F(Files, WhenTheWorkerThatHasAFileIsLostItIsSentAgain) {
    write("shared", large_text(4 << 20));
    const auto sum = [&] {
        return run(wq::Task("cksum < shared").input_file(here("shared"), "", {.cache = true})).output();
    };
    const pid_t one = start_worker();
    const std::string first = sum();
    kill_worker(one);
    start_worker();
    EXPECT_EQ(sum(), first);
    EXPECT_GT(manager_->stats().bytes_sent, 8 << 20);
}

TEST_F(Files, AKeptCacheIsTheNextWorkers) {
    write("shared", large_text(2 << 20));
    const auto worker = [&] {
        return start_worker({"--contact", folder_ + "/contact", "--keep-cache", here("kept")});
    };
    const auto sum = [&] {
        const auto task = run(wq::Task("cksum < shared").input_file(here("shared"), "", {.cache = true}));
        EXPECT_TRUE(task.ok()) << task.reason();
        return task.output();
    };
    const pid_t one = worker();
    const std::string first = sum();
    kill_worker(one);
    const pid_t next = worker();
    EXPECT_EQ(sum(), first);
    EXPECT_LT(manager_->stats().bytes_sent, 3 << 20) << "it was still there";
    kill_worker(next);
    for (const auto& entry : fs::recursive_directory_iterator(here("kept")))
        if (entry.is_regular_file() && entry.file_size() > 1000) {
            fs::permissions(entry, fs::perms::owner_all);
            std::ofstream(entry.path(), std::ios::app) << "spoilt";
        }
    worker();
    EXPECT_EQ(sum(), first) << "what somebody has written to is not taken for it";
}

TEST_F(Files, AnyByteMayBeInAName) {
    start_worker();
    std::string name;
    for (int byte = 1; byte < 256; ++byte)
        if (byte != '/') name += static_cast<char>(byte);
    name.resize(200);
    const auto task = run(wq::Task("cat -- * > out; cp out back-* || cp -- out ./\"$(echo x)\"")
                              .input_buffer("inside", name)
                              .output_file(here("out")));
    EXPECT_EQ(read(here("out")), "inside") << task.reason();
}

// The interrupted transfer is repeated to another worker.
TEST_F(Files, ALostWorkerCostsNoFile) {
    const std::string text = large_text(3 << 20);
    write("in", text);
    for (int index = 0; index < 20; ++index)
        manager_->submit(wq::Task("cp in out")
                             .input_file(here("in"), "in", {.cache = index % 2 == 0})
                             .output_file(here("out" + std::to_string(index)), "out"));
    for (int round = 0; round < 4; ++round) {
        const pid_t worker = start_worker();
        while (!manager_->wait(1)) continue;  // it is in the middle of others
        kill_worker(worker);
    }
    start_worker();
    while (manager_->wait()) continue;
    for (int index = 0; index < 20; ++index)
        EXPECT_TRUE(read(here("out" + std::to_string(index))) == text) << index;
    for (const auto& entry : fs::directory_iterator(folder_ + "/here"))
        EXPECT_TRUE(entry.path().filename() == "in" || entry.path().filename().string().starts_with("out"))
            << entry.path();
}

// Cached inputs are not transferred and not logged.
TEST_F(Files, TransfersAreInTheLogAndInTheStatistics) {
    start_worker();
    const std::string path = write("in", large_text(2 << 20));
    for (int index = 0; index < 2; ++index) {
        const auto task = run(wq::Task("cp in 'an out'")
                                  .input_file(path, "", {.cache = true})
                                  .input_buffer("x", "small")
                                  .output_file(here("out"), "an out"));
        ASSERT_TRUE(task.ok()) << task.reason();
    }
    EXPECT_GT(manager_->stats().bandwidth, 0);
    manager_.reset();
    std::vector<std::string> told;
    std::istringstream log(read(folder_ + "/transactions.log"));
    for (std::string line; std::getline(log, line);) {
        std::istringstream words(line);
        std::string time, pid, what, direction, id, flag, size, took, name;
        words >> time >> pid >> what >> direction >> id >> flag >> size >> took >> name;
        if (what == "TRANSFER" && time != "#")
            told.push_back(direction + id + flag + " " + size + " " + name);
    }
    const std::vector<std::string> expected{"INPUT10 0.000054 small", "INPUT11 2.000060 in",
                                            "OUTPUT10 2.000060 an_out", "INPUT20 0.000054 small",
                                            "OUTPUT20 2.000060 an_out"};
    EXPECT_EQ(told.size(), expected.size());
    for (std::size_t n = 0; n < std::min(told.size(), expected.size()); ++n)
        EXPECT_EQ(told[n].substr(0, 10), expected[n].substr(0, 10)) << told[n];
}

TEST_F(Files, SandboxesGoWithTheirTasks) {
    start_worker();
    for (int index = 0; index < 10; ++index)
        manager_->submit(wq::Task(index % 2 == 0 ? "true" : "exit 1").input_buffer("x", "x"));
    while (manager_->wait()) continue;
    run(wq::Task("true").input_buffer("x", "x"));
    EXPECT_LE(sandboxes().size(), 1u) << "the last one may still be on its way";
}

}  // namespace
