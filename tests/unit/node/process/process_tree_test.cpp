#include "node/process/process_tree.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/descriptor.h"

namespace wq::node::process {
namespace {

using testing::Contains;
using testing::IsSupersetOf;
using testing::Not;

// A child with a child of its own; both wait until they are killed.
struct Family {
    Family() {
        int ends[2];
        EXPECT_EQ(pipe(ends), 0);
        const Descriptor told(ends[0]);
        Descriptor tell(ends[1]);
        child = fork();
        if (child == 0) {
            setpgid(0, 0);
            const pid_t below = fork();
            if (below != 0 && write(tell.get(), &below, sizeof below) < 0) _exit(1);
            for (;;) pause();
        }
        EXPECT_EQ(read(told.get(), &grandchild, sizeof grandchild), static_cast<ssize_t>(sizeof grandchild));
    }
    pid_t child = 0;
    pid_t grandchild = 0;
};

TEST(ProcessTree, TheKernelsListAndAScanAgree) {
    const Family family;
    OwnChildren listed;
    OwnChildren scanned(OwnChildren::From::scan);
    EXPECT_FALSE(scanned.cheap());
    EXPECT_THAT(scanned.list(), Contains(family.child));
    EXPECT_THAT(scanned.list(), Not(Contains(family.grandchild)));
    EXPECT_THAT(scanned.list(), testing::UnorderedElementsAreArray(listed.list()));
    EXPECT_THAT(descendants_of(getpid()), IsSupersetOf({family.child, family.grandchild}));
    signal_tree(family.child, SIGKILL);
    waitpid(family.child, nullptr, 0);
}

TEST(ProcessTree, TellsGroupParentAndMemory) {
    const Family family;
    const auto facts = facts_of(family.grandchild);
    ASSERT_TRUE(facts);
    EXPECT_EQ(facts->parent, family.child);
    EXPECT_EQ(facts->group, family.child);
    EXPECT_EQ(facts->session, getsid(0));
    EXPECT_GT(resident_kb(family.child), 0);
    EXPECT_GT(proportional_kb(family.child), 0);
    signal_tree(family.child, SIGKILL);
    waitpid(family.child, nullptr, 0);
    EXPECT_FALSE(facts_of(family.child));
    EXPECT_EQ(resident_kb(family.child), 0);
}

// As a shell does: it goes on when its command has ended. Many others are killed after that, so it has time.
TEST(ProcessTree, TellsHowLongAProcessHasRun) {
    constexpr Duration rounded = std::chrono::milliseconds(20);  // the kernel counts in ticks
    const Instant before = instant_now();
    const Family family;
    const Instant begun = instant_now();
    for (int round = 0; round < 3; ++round) {
        const Instant asked = instant_now();
        const auto age = age_of(family.child);
        const Instant answered = instant_now();
        ASSERT_TRUE(age);
        EXPECT_GE(*age + rounded, asked - begun);
        EXPECT_LE(*age, answered - before + rounded);
        EXPECT_LE(*age, age_of(getpid()).value_or(Duration{0}) + rounded) << "we began first";
    }
    signal_tree(family.child, SIGKILL);
    waitpid(family.child, nullptr, 0);
    EXPECT_FALSE(age_of(family.child));
}

TEST(ProcessTree, WhoWaitsForAKilledOneDoesNotGoOn) {
    for (int round = 0; round < 5; ++round) {
        int ends[2];
        ASSERT_EQ(pipe(ends), 0);
        const Descriptor told(ends[0]);
        Descriptor tell(ends[1]);
        const pid_t shell = fork();
        if (shell == 0) {
            const pid_t command = fork();
            bool is_parent = command != 0;
            for (int others = 0; is_parent && others < 200; ++others) is_parent = fork() != 0;
            if (!is_parent)
                for (;;) pause();
            if (write(tell.get(), "b", 1) != 1) _exit(1);  // it has begun
            waitpid(command, nullptr, 0);
            if (write(tell.get(), "!", 1) != 1) _exit(1);  // it goes on
            _exit(0);
        }
        tell.reset();
        char word = 0;
        ASSERT_EQ(read(told.get(), &word, 1), 1);
        signal_tree(shell, SIGKILL);
        waitpid(shell, nullptr, 0);
        ASSERT_EQ(read(told.get(), &word, 1), 0) << "round " << round;
    }
}

TEST(ProcessTree, EndsAllChildrenAndTheirOrphans) {
    ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    const Family first;
    const Family second;
    EXPECT_TRUE(end_all_children(30000));
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    for (const pid_t pid : {first.child, first.grandchild, second.child, second.grandchild})
        EXPECT_EQ(kill(pid, 0), -1);
}

TEST(ProcessTree, ReadsTheEnvironmentThatAProcessWasStartedWith) {
    EXPECT_TRUE(environment_of(getpid(), "PATH"));
    EXPECT_FALSE(environment_of(getpid(), "PAT"));
    EXPECT_FALSE(environment_of(-1, "PATH"));
}

}  // namespace
}  // namespace wq::node::process
