// Bad files end only their task, with the right result and a message; the worker and the other tasks
// continue.
#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/descriptor.h"
#include "files_fixture.h"

namespace {

namespace fs = std::filesystem;
using wq::TaskResult;

class BadFiles : public wq::testing::Files {
  protected:
    void expect_the_worker_goes_on() {
        const auto task = run(wq::Task("cat x").input_buffer("fine", "x"));
        EXPECT_EQ(task.output(), "fine") << task.reason();
    }
};

// A file system of 2 MB in the test's folder.
class FullDisk : public BadFiles {
  protected:
    void SetUp() override {
        fs::create_directories(small_);
        if (::mount("tmpfs", small_.c_str(), "tmpfs", 0, "size=2m,mode=1777") == 0) return;
        std::printf("SKIP: no tmpfs can be mounted here: %s\n", std::strerror(errno));
        mounted_ = false;
        GTEST_SKIP();
    }
    void TearDown() override {
        manager_.reset();
        for (const pid_t child : children_) stop(child, SIGTERM);
        children_.clear();
        if (!mounted_) return;
        EXPECT_EQ(::umount2(small_.c_str(), MNT_DETACH), 0) << std::strerror(errno);
    }
    const std::string small_ = here("small");
    bool mounted_ = true;
};

TEST_F(FullDisk, OfTheWorkerIsSaidAndNothingElseFails) {
    start_worker({"--contact", folder_ + "/contact", "-s", small_});
    const std::string text = large_text(3 << 20);
    for (const bool cached : {false, true}) {
        const auto task = run(wq::Task("true").input_file(write("large", text), "", {.cache = cached}));
        EXPECT_EQ(task.result(), TaskResult::disk_full) << cached;
        EXPECT_NE(task.reason().find("No space left on device"), std::string::npos) << task.reason();
        expect_the_worker_goes_on();
    }
    const auto fetched = run(wq::Task("true").input_url("file://" + here("large"), "it"));
    EXPECT_EQ(fetched.result(), TaskResult::disk_full) << fetched.reason();
    expect_the_worker_goes_on();
}

// Its input is in the cache of another worker on the node, and this worker's disk has no room for it.
TEST_F(FullDisk, OfAWorkerBesideOneThatHasTheFileIsSaid) {
    write("large", large_text(3 << 20));
    const auto needing = [&] { return wq::Task("true").input_file(here("large"), "", {.cache = true}); };
    start_worker({"--contact", folder_ + "/contact", "--cores", "2"});
    start_worker({"--contact", folder_ + "/contact", "-s", small_});
    while (manager_->stats().workers_connected < 2) manager_->wait(1);
    EXPECT_TRUE(run(needing().cores(2)).ok());
    const std::string go = here("go");
    ASSERT_EQ(::mkfifo(go.c_str(), 0600), 0);
    manager_->submit(wq::Task("read x < " + go).cores(2));
    const wq::Descriptor gate(::open(go.c_str(), O_WRONLY));  // after it has started, so that no other may
                                                              // start there
    const auto task = run(needing());
    EXPECT_EQ(task.result(), TaskResult::disk_full) << task.reason();
    EXPECT_NE(task.reason().find("No space left on device"), std::string::npos) << task.reason();
    EXPECT_LT(manager_->stats().bytes_sent, 4 << 20) << "it was read beside it, not sent again";
    expect_the_worker_goes_on();
    ASSERT_EQ(::write(gate.get(), "\n", 1), 1);
    EXPECT_TRUE(manager_->wait()->ok());
}

TEST_F(FullDisk, OfTheManagerIsSaidAndLeavesNothing) {
    start_worker();
    const auto task = run(wq::Task("head -c 3000000 /dev/zero > out; echo log > log")
                              .output_file(small_ + "/out", "out")
                              .output_file(small_ + "/log", "log"));
    EXPECT_EQ(task.result(), TaskResult::output_transfer_error);
    EXPECT_NE(task.reason().find("No space left on device"), std::string::npos) << task.reason();
    EXPECT_EQ(read(small_ + "/log"), "log\n") << "the other one has room";
    EXPECT_EQ(std::distance(fs::directory_iterator(small_), {}), 1);
    expect_the_worker_goes_on();
}

TEST_F(BadFiles, ALinkThatATaskLeavesLeadsNowhere) {
    start_worker();
    write("kept/secret", "secret");
    const auto task =
        run(wq::Task("mkdir out && ln -s / out/root && ln -s ../../../../etc out/up && ln -s x out/in")
                .output_file(here("out")));
    EXPECT_EQ(task.result(), TaskResult::output_missing) << "what they lead to is no file of the task's";
    EXPECT_FALSE(fs::exists(here("out")));
    // The destination is a link: it is replaced, not followed.
    fs::create_symlink(here("kept"), here("target"));
    const auto next = run(wq::Task("mkdir out && echo x > out/secret").output_file(here("target"), "out"));
    EXPECT_TRUE(next.ok()) << next.reason();
    EXPECT_EQ(read(here("kept/secret")), "secret");
    EXPECT_EQ(read(here("target/secret")), "x\n");
}

TEST_F(BadFiles, AFileThatIsNoneIsSaid) {
    start_worker();
    ASSERT_EQ(::mkfifo(here("pipe").c_str(), 0600), 0);
    const auto input = run(wq::Task("true").input_file(here("pipe")));
    EXPECT_EQ(input.result(), TaskResult::input_missing);
    EXPECT_NE(input.reason().find("pipe"), std::string::npos) << input.reason();
    const auto output = run(wq::Task("mkfifo out").output_file(here("out")));
    EXPECT_EQ(output.result(), TaskResult::output_missing) << output.reason();
    EXPECT_FALSE(fs::exists(here("out")));
    expect_the_worker_goes_on();
}

// It is sent unchanged, or the task fails: never a mixture.
TEST_F(BadFiles, AFileThatChangesWhileItIsSentIsOneOrNone) {
    start_worker();
    const std::string before(6 << 20, 'a');
    const std::string after(5 << 20, 'b');
    int told = 0;
    for (int round = 0; round < 20; ++round) {
        write("in", before);
        manager_->submit(wq::Task("tr -d b < in | wc -c; wc -c < in")
                             .input_file(here("in"), "in", {.cache = round % 2 == 0}));
        auto task = manager_->wait(0);
        if (round % 3 == 0)
            fs::remove(here("in"));
        else
            write("in", after);
        if (!task) task = manager_->wait();
        if (task->result() == TaskResult::input_missing) {
            ++told;
            continue;
        }
        EXPECT_EQ(task->result(), TaskResult::success) << task->reason();
        const std::string size = std::to_string(before.size()) + "\n";
        EXPECT_TRUE(task->output() == size + size ||
                    task->output() == "0\n" + std::to_string(after.size()) + "\n")
            << task->output();
    }
    std::printf("%d of 20 were told\n", told);
    expect_the_worker_goes_on();
}

// Every hundredth has a text. If each had one, some file systems (ext4 with `discard`) would take a
// millisecond to remove each one that was on disk, and the test too long.
TEST_F(BadFiles, AFolderOfVeryManyFilesGoesWhole) {
    start_worker();
    fs::create_directories(here("many"));
    for (int number = 0; number < 100'000; ++number) {
        std::ofstream file(here("many/") + std::to_string(number));
        if (number % 100 == 99) file << number;
    }
    const auto task = run(wq::Task("ls many | wc -l; cat many/99999").input_file(here("many")));
    EXPECT_EQ(task.output(), "100000\n99999") << task.reason();
}

TEST_F(BadFiles, AFolderOfVeryManyFilesComesWhole) {
    start_worker();
    const auto task = run(wq::Task("mkdir many && cd many && seq 0 99999 | xargs touch && "
                                   "for n in $(seq 99 100 99999); do echo $n > $n; done")
                              .output_file(here("many")));
    EXPECT_TRUE(task.ok()) << task.reason() << task.error_output();
    EXPECT_EQ(std::distance(fs::directory_iterator(here("many")), {}), 100'000);
    EXPECT_EQ(read(here("many/99999")), "99999\n");
}

TEST_F(BadFiles, WhatCannotBeReadOrWrittenIsSaid) {
    start_worker();
    if (::geteuid() == 0) {
        std::printf("SKIP: root may read and write everything\n");
        GTEST_SKIP();
    }
    fs::permissions(write("closed", "x"), fs::perms::none);
    EXPECT_EQ(run(wq::Task("true").input_file(here("closed"))).result(), TaskResult::input_missing);
    fs::create_directories(here("locked"));
    fs::permissions(here("locked"), fs::perms::owner_read);
    EXPECT_EQ(run(wq::Task("echo > out").output_file(here("locked/out"), "out")).result(),
              TaskResult::output_transfer_error);
    fs::permissions(here("locked"), fs::perms::owner_all);
    expect_the_worker_goes_on();
}

}  // namespace
