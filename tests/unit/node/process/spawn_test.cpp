// What a caller that does not wait for the exec knows of the process that it started.
#include "node/process/spawn.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "base/descriptor.h"
#include "support/folder.h"

namespace wq::node::process {
namespace {

struct Child {
    explicit Child(std::string of) : file(std::move(of)) {
        plan.file = file.c_str();
        plan.argv = words.data();
        plan.envp = &none;
        plan.out = plan.err = "/dev/null";
    }
    int wait_for_end() const {
        int status = 0;
        return waitpid(spawned.pid, &status, 0) == spawned.pid ? status : -1;
    }

    std::string file;
    std::array<char*, 2> words{file.data(), nullptr};
    char* none = nullptr;
    SpawnPlan plan;
    ChildStack stack;
    Spawned spawned;
};

TEST(Spawn, DoesNotWaitForTheExecWhereThatIsNotWanted) {
    const wq::test::Folder folder;
    const std::string pipe = folder / "pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    Child child("/bin/true");
    child.plan.out = pipe.c_str();  // which it cannot open before somebody reads
    child.spawned = spawn(child.plan, child.stack, Until::begun);
    ASSERT_GT(child.spawned.pid, 0);
    EXPECT_TRUE(child.stack.in_use());
    EXPECT_EQ(getpgid(child.spawned.pid), child.spawned.pid);
    const Descriptor reader(open(pipe.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(child.wait_for_end(), 0);
    EXPECT_FALSE(child.stack.in_use());
    EXPECT_EQ(child.stack.failure().pid, 0);
}

TEST(Spawn, TellsOfAnExecThatFailedWhenItsProcessHasEnded) {
    Child child("/no/such/file");
    child.spawned = spawn(child.plan, child.stack, Until::begun);
    ASSERT_GT(child.spawned.pid, 0);
    errno = 0;
    EXPECT_EQ(WEXITSTATUS(child.wait_for_end()), 127);
    EXPECT_EQ(errno, 0);  // it is ours, not the child's
    EXPECT_FALSE(child.stack.in_use());
    EXPECT_EQ(child.stack.failure().pid, -1);
    EXPECT_EQ(child.stack.failure().error, ENOENT);
    EXPECT_TRUE(child.stack.failure().at_exec);
}

TEST(Spawn, TellsOfADirectoryThatCannotBeEntered) {
    Child child("/bin/true");
    child.plan.directory = "/no/such/folder";
    child.spawned = spawn(child.plan, child.stack, Until::begun);
    ASSERT_GT(child.spawned.pid, 0);
    child.wait_for_end();
    EXPECT_EQ(child.stack.failure().error, ENOENT);
    EXPECT_TRUE(child.stack.failure().at_directory);
}

// A program whose stdin is closed gets 0 as its next descriptor.
TEST(Spawn, GivesAsStdinWhatIsDescriptor0Already) {
    const Descriptor before(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    const Descriptor file(open("/dev/null", O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(dup3(file.get(), STDIN_FILENO, O_CLOEXEC), STDIN_FILENO);
    Child child("/bin/cat");
    child.plan.in = STDIN_FILENO;
    child.spawned = spawn(child.plan, child.stack);
    EXPECT_EQ(child.wait_for_end(), 0);  // it ends with 1 if its stdin is closed
    before.valid() ? dup2(before.get(), STDIN_FILENO) : close(STDIN_FILENO);
}

TEST(Spawn, KnowsWhatFailedAtOnceWhereItWaits) {
    Child child("/no/such/file");
    child.spawned = spawn(child.plan, child.stack);
    EXPECT_EQ(child.spawned.pid, -1);
    EXPECT_EQ(child.spawned.error, ENOENT);
    EXPECT_TRUE(child.spawned.at_exec);
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);  // it is reaped
}

}  // namespace
}  // namespace wq::node::process
