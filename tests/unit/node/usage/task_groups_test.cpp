// Control groups of tasks: where they may be made, and what the kernel tells of them and does with them.
#include "node/usage/task_groups.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>

#include "support/folder.h"
#include "unit/node/usage/shown_group.h"

namespace wq::node::usage {
namespace {

// A hierarchy of plain files, and this process in `group` of it.
struct Hierarchy {
    explicit Hierarchy(const std::string& group) {
        roots = {folder / "membership", folder / "mount"};
        std::ofstream(roots.membership) << "0::" << group << "\n";
        own = roots.mount + (group == "/" ? "" : group);
        std::filesystem::create_directories(own);
        std::ofstream(own + "/cgroup.procs") << getpid() << "\n";
        std::ofstream(own + "/cgroup.controllers") << "cpu io memory\n";
        std::ofstream(own + "/cgroup.subtree_control") << "memory\n";
    }
    wq::test::Folder folder;
    machine::ControlGroupRoots roots;
    std::string own;
};

TEST(TaskGroups, TheRootThatWeSeeIsOurs) {
    const Hierarchy hierarchy("/");
    const machine::GroupRights rights = machine::group_rights(hierarchy.roots);
    EXPECT_EQ(rights.folder, hierarchy.own);
    EXPECT_TRUE(rights.memory) << rights.why;
}

TEST(TaskGroups, AGroupIsOursWhenItWasDelegated) {
    const Hierarchy hierarchy("/job.scope");
    EXPECT_EQ(machine::group_rights(hierarchy.roots).folder, "");
    EXPECT_NE(machine::group_rights(hierarchy.roots).why.find("Delegate=yes"), std::string::npos);
    if (setxattr(hierarchy.own.c_str(), "user.delegate", "1", 1, 0) != 0)
        GTEST_SKIP() << "this file system keeps no extended attributes of users";
    EXPECT_EQ(machine::group_rights(hierarchy.roots).folder, hierarchy.own);
    EXPECT_TRUE(machine::group_rights(hierarchy.roots).memory);
}

TEST(TaskGroups, WhoWasMovedAsideStillHasTheGroupAbove) {
    const Hierarchy hierarchy("/job.scope/work_queue_own");
    const std::string above = hierarchy.roots.mount + "/job.scope";
    std::ofstream(above + "/cgroup.procs") << "";
    EXPECT_EQ(machine::group_rights(hierarchy.roots).folder, above);
    EXPECT_FALSE(machine::group_rights(hierarchy.roots).memory);  // no list of controllers is there
}

TEST(TaskGroups, WithoutTheControllerMemoryIsLookedAt) {
    const Hierarchy hierarchy("/");
    std::ofstream(hierarchy.own + "/cgroup.controllers") << "cpu io\n";
    const machine::GroupRights rights = machine::group_rights(hierarchy.roots);
    EXPECT_EQ(rights.folder, hierarchy.own);
    EXPECT_FALSE(rights.memory);
    EXPECT_NE(machine::how_memory_is_held(rights).find("no memory controller"), std::string::npos);
}

TEST(TaskGroups, WhereProcessesMayNotBeMovedTheControllerMustBeThereAlready) {
    const Hierarchy hierarchy("/");  // a container's: there is more above
    std::ofstream(hierarchy.own + "/cgroup.type") << "domain\n";
    EXPECT_TRUE(machine::group_rights(hierarchy.roots).memory);
    std::ofstream(hierarchy.own + "/cgroup.subtree_control") << "cpu\n";
    const machine::GroupRights rights = machine::group_rights(hierarchy.roots);
    EXPECT_EQ(rights.folder, hierarchy.own);
    EXPECT_FALSE(rights.memory);
    EXPECT_NE(machine::how_memory_is_held(rights).find("may not be moved"), std::string::npos);
    std::filesystem::remove(hierarchy.own + "/cgroup.type");
    EXPECT_TRUE(machine::group_rights(hierarchy.roots).memory);
}

TEST(TaskGroups, WhereThereIsNoneOfVersionTwoThereAreNoGroups) {
    Hierarchy hierarchy("/");
    std::ofstream(hierarchy.roots.membership) << "4:memory:/job\n";
    EXPECT_EQ(machine::group_rights(hierarchy.roots).folder, "");
    EXPECT_FALSE(TaskGroups(hierarchy.roots).make(1));
}

TEST(TaskGroups, OneMaySwitchThemOff) {
    const Hierarchy hierarchy("/");
    setenv("WORK_QUEUE_CGROUP", "no", 1);
    const machine::GroupRights rights = machine::group_rights(hierarchy.roots);
    unsetenv("WORK_QUEUE_CGROUP");
    EXPECT_EQ(rights.folder, "");
    EXPECT_EQ(rights.why, "WORK_QUEUE_CGROUP=no");
}

std::size_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST(TaskGroups, ThoseThatCannotBeRemovedKeepNoDescriptors) {
    const Hierarchy hierarchy("/");
    TaskGroups groups(hierarchy.roots);
    const std::size_t before = open_descriptors();
    for (std::uint64_t serial = 1; serial <= 8; ++serial) {
        auto group = groups.make(serial);
        ASSERT_TRUE(group);
        std::ofstream(group->path() + "/stuck") << "1";
        groups.give_up(std::move(group));
    }
    EXPECT_EQ(open_descriptors(), before);
}

TEST(TaskGroups, AHierarchyThatIsNotOursIsLetBe) {
    const Hierarchy hierarchy("/");  // as a host's that a container was given
    std::ofstream(hierarchy.own + "/cgroup.procs") << "1\n2\n";
    EXPECT_EQ(machine::group_rights(hierarchy.roots).folder, "");
}

TEST(TaskGroups, MemoryIsWhatCannotBeDropped) {
    test::ShownGroup shown;
    EXPECT_FALSE(shown.group.memory());
    shown.write("memory.stat",
                "anon 2097152\nfile 900000000\nkernel_stack 4096\nshmem 1048576\nslab_reclaimable 8000000\n");
    shown.write("memory.swap.current", "10240\n");
    const auto memory = shown.group.memory();
    ASSERT_TRUE(memory);
    EXPECT_EQ(memory->kb, 2048 + 4 + 1024);
    EXPECT_EQ(memory->swapped_kb, 10);
}

TEST(TaskGroups, TheKernelHoldsItOnceItIsSeenThere) {
    test::ShownGroup shown;
    EXPECT_TRUE(shown.group.limit_memory(200));
    std::ifstream limit(shown.folder / "task/memory.max");
    std::int64_t bytes = 0;
    limit >> bytes;
    EXPECT_EQ(bytes, 200 << 20);
    EXPECT_FALSE(shown.group.holds_memory());  // its process may not have entered
    shown.write("memory.stat", "anon 4096\n");
    EXPECT_TRUE(shown.group.memory());
    EXPECT_TRUE(shown.group.holds_memory());
}

TEST(TaskGroups, AKillAtItsLimitIsToldFromOneFurtherUp) {
    using Killed = TaskGroup::Killed;
    test::ShownGroup shown;
    EXPECT_EQ(shown.group.killed_for_memory(), Killed::not_at_all);
    shown.write("memory.events", "low 0\nmax 7\noom 0\noom_kill 1\n");
    EXPECT_EQ(shown.group.killed_for_memory(), Killed::elsewhere);
    shown.write("memory.events", "low 0\nmax 7\noom 1\noom_kill 1\n");
    EXPECT_EQ(shown.group.killed_for_memory(), Killed::elsewhere);  // it has no limit: one in it had
    ASSERT_TRUE(shown.group.limit_memory(200));
    EXPECT_EQ(shown.group.killed_for_memory(), Killed::at_its_limit);
}

TEST(TaskGroups, ALimitThatTheTaskHasSetItselfIsNotItsOwn) {
    using Killed = TaskGroup::Killed;
    test::ShownGroup shown;
    ASSERT_TRUE(shown.group.limit_memory(200));
    shown.write("memory.events", "low 0\nmax 7\noom 1\noom_kill 1\n");
    shown.write("memory.events.local", "low 0\nmax 0\noom 0\noom_kill 0\n");
    EXPECT_EQ(shown.group.killed_for_memory(), Killed::elsewhere);
    // Who was killed for ours may have been in a group in it.
    shown.write("memory.events.local", "low 0\nmax 3\noom 1\noom_kill 0\n");
    EXPECT_EQ(shown.group.killed_for_memory(), Killed::at_its_limit);
}

// With the kernel's own.
class RealTaskGroups : public testing::Test {
  protected:
    void SetUp() override {
        rights_ = machine::group_rights();
        if (rights_.folder.empty()) GTEST_SKIP() << "no groups can be made here: " << rights_.why;
    }

    // A process of the group and its child, that live until they are killed.
    static pid_t begin_two(const TaskGroup& group) {
        int ends[2];
        if (pipe(ends) != 0) return -1;
        const pid_t pid = fork();
        if (pid == 0) {
            if (!group.join()) _exit(1);
            if (fork() == 0) {
                setsid();
                if (write(ends[1], "", 1) != 1) _exit(1);
            }
            for (;;) pause();
        }
        close(ends[1]);
        char byte = 0;
        EXPECT_EQ(read(ends[0], &byte, 1), 1);
        close(ends[0]);
        return pid;
    }

    std::string folder_of(pid_t launcher) const {
        struct stat status {};
        stat("/proc/self/ns/pid", &status);
        return rights_.folder + "/work_queue." + std::to_string(status.st_ino) + "." +
               std::to_string(launcher);
    }

    machine::GroupRights rights_;
};

TEST_F(RealTaskGroups, AllOfATaskIsKilledAtOnceAndNothingIsLeft) {
    {
        TaskGroups groups;
        auto group = groups.make(1);
        ASSERT_TRUE(group);
        EXPECT_EQ(std::filesystem::path(group->path()).parent_path(), folder_of(getpid()));
        if (!std::filesystem::exists(group->path() + "/cgroup.kill")) GTEST_SKIP() << "Linux before 5.14";
        const pid_t pid = begin_two(*group);
        EXPECT_FALSE(group->remove());  // they live
        group->kill();
        int status = 0;
        ASSERT_EQ(waitpid(pid, &status, 0), pid);
        EXPECT_EQ(WTERMSIG(status), SIGKILL);
        groups.give_up(std::move(group));
    }
    EXPECT_FALSE(std::filesystem::exists(folder_of(getpid())));
}

TEST_F(RealTaskGroups, TimeOfWhomNobodyWaitedForCounts) {
    TaskGroups groups;
    auto group = groups.make(1);
    ASSERT_TRUE(group);
    const pid_t pid = fork();
    if (pid == 0) {
        group->join();
        signal(SIGCHLD, SIG_IGN);
        int ends[2];
        if (pipe(ends) != 0) _exit(1);
        if (fork() == 0) {
            while (clock() < CLOCKS_PER_SEC / 5) {
            }
            _exit(0);
        }
        close(ends[1]);
        char byte = 0;
        _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    EXPECT_GE(group->cpu_us().value_or(0), 200000);
    groups.give_up(std::move(group));
}

TEST_F(RealTaskGroups, WhatAKilledLauncherLeftIsRemoved) {
    const pid_t dead = fork();
    if (dead == 0) _exit(0);
    waitpid(dead, nullptr, 0);
    const std::string left = folder_of(dead);
    // Others that begin meanwhile may remove it as well.
    mkdir(left.c_str(), 0755);
    mkdir((left + "/task.7").c_str(), 0755);
    mkdir((left + "/task.7/of its own").c_str(), 0755);
    TaskGroups groups;
    ASSERT_TRUE(groups.make(1)->remove());
    EXPECT_FALSE(std::filesystem::exists(left));
}

TEST_F(RealTaskGroups, TheKernelKillsWhoNeedsMoreMemoryThanItsLimit) {
    if (!rights_.memory) GTEST_SKIP() << "the kernel does not hold memory here: " << rights_.why;
    TaskGroups groups;
    auto group = groups.make(1);
    auto other = groups.make(2);
    ASSERT_TRUE(group && other);
    ASSERT_TRUE(group->limit_memory(64));
    const pid_t sibling = begin_two(*other);
    const pid_t pid = fork();
    if (pid == 0) {
        group->join();
        constexpr std::size_t size = std::size_t{256} << 20;
        auto* const memory = static_cast<volatile char*>(malloc(size));
        for (std::size_t at = 0; at < size; at += 4096) memory[at] = 1;
        _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    EXPECT_EQ(group->killed_for_memory(), TaskGroup::Killed::at_its_limit);
    EXPECT_EQ(kill(sibling, 0), 0);
    EXPECT_EQ(other->killed_for_memory(), TaskGroup::Killed::not_at_all);
    EXPECT_GT(other->memory()->kb, 0);
    other->kill();
    ASSERT_EQ(waitpid(sibling, &status, 0), sibling);
    groups.give_up(std::move(group));
    groups.give_up(std::move(other));
}

}  // namespace
}  // namespace wq::node::usage
