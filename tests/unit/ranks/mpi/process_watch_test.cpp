#include "ranks/mpi/process_watch.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace wq::ranks::mpi {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A child that does nothing until it is killed.
struct Child {
    Child() : pid(::fork()) {
        if (pid == 0) {
            for (;;) ::pause();
        }
    }
    ~Child() { end(); }
    void end() {
        if (pid <= 0) return;
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
        pid = 0;
    }
    ProcessAddress address() const { return {pid, own_process_address().pid_namespace}; }
    pid_t pid;
};

TEST(ProcessWatch, TellsOnceOfAKilledProcessAndOfNoOther) {
    Child first;
    Child second;
    ProcessWatch watch;
    ASSERT_TRUE(watch.add(1, first.address()));
    ASSERT_TRUE(watch.add(2, second.address()));
    EXPECT_THAT(watch.ended(), IsEmpty());
    first.end();
    pollfd readable{watch.descriptor(), POLLIN, 0};
    EXPECT_EQ(::poll(&readable, 1, 10000), 1);
    EXPECT_THAT(watch.ended(), ElementsAre(1));
    EXPECT_THAT(watch.ended(), IsEmpty());
}

TEST(ProcessWatch, AProcessThatIsGoneAlreadyIsTold) {
    Child child;
    const ProcessAddress address = child.address();
    child.end();
    ProcessWatch watch;
    ASSERT_TRUE(watch.add(7, address));
    EXPECT_THAT(watch.ended(), ElementsAre(7));
}

TEST(ProcessWatch, RemovedMeansSilent) {
    Child child;
    ProcessWatch watch;
    ASSERT_TRUE(watch.add(1, child.address()));
    watch.remove(1);
    child.end();
    EXPECT_THAT(watch.ended(), IsEmpty());
}

TEST(ProcessWatch, AnotherPidNamespaceCannotBeWatched) {
    ProcessWatch watch;
    EXPECT_FALSE(watch.add(1, {1, own_process_address().pid_namespace + 1}));
}

}  // namespace
}  // namespace wq::ranks::mpi
