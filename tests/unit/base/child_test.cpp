#include "base/child.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

namespace wq {
namespace {

using ::testing::HasSubstr;
using Group = ChildOptions::Group;

// Until the last process that has the other end has closed it.
std::string all_of(const Descriptor& from) {
    std::string text;
    std::array<char, 4096> part;
    for (ssize_t got; (got = ::read(from.get(), part.data(), part.size())) > 0;)
        text.append(part.data(), static_cast<std::size_t>(got));
    return text;
}

std::vector<std::string> shell(const std::string& line) {
    return {"/bin/sh", "-c", line};
}

// Starts a shell whose output is read to its end.
std::string said_by(const std::string& line, ChildOptions options = {}) {
    Pipe out = open_pipe();
    options.out = out.write.get();
    Child child(shell(line), options);
    out.write.reset();
    std::string text = all_of(out.read);
    child.wait();
    return text;
}

TEST(Child, TellsHowItEnded) {
    EXPECT_EQ(Child(shell("exit 7"), {}).wait(), 7);
    EXPECT_EQ(Child(shell("kill -9 $$"), {}).wait(), 128 + SIGKILL);
    EXPECT_EQ(Child({"true"}, {}).wait(), 0);  // found by PATH
}

TEST(Child, SaysWhyItCannotStart) {
    const Child child({"/no such program"}, {});
    EXPECT_FALSE(child.running());
    EXPECT_EQ(child.start_error(), ENOENT);
}

TEST(Child, HasTheDescriptorsThatItIsGivenAndElseNone) {
    EXPECT_EQ(said_by("cat; echo lost >&2; echo said"), "said\n");  // cat reads /dev/null
    Pipe in = open_pipe();
    ASSERT_EQ(::write(in.write.get(), "words", 5), 5);
    in.write.reset();
    EXPECT_EQ(said_by("cat", {.in = in.read.get()}), "words");
}

// Whatever we ignore or block: a shell's pipelines need SIGPIPE.
TEST(Child, StartsWithTheSignalsOfAProgramsStart) {
    const auto ignored = ::signal(SIGPIPE, SIG_IGN);
    sigset_t blocked;
    sigset_t before;
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &blocked, &before);
    const std::string signals = said_by("grep -E '^Sig(Blk|Ign)' /proc/self/status", {.group = Group::own});
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    ::signal(SIGPIPE, ignored);
    EXPECT_THAT(signals, HasSubstr("SigBlk:\t0000000000000000"));
    const std::size_t at = signals.find("SigIgn:\t") + 8;
    const std::uint64_t ignored_there = std::stoull(signals.substr(at), nullptr, 16);
    constexpr std::uint64_t ours_to_set = (1U << 31) - 1;  // 32 and 33 are the C library's
    EXPECT_EQ(ignored_there & ours_to_set, 0U) << signals;
}

TEST(Child, MayHaveItsOwnEnvironmentAndNoneOfOurDescriptors) {
    std::string only = "WQ_ONLY=this";
    std::array<char*, 2> variables{only.data(), nullptr};
    EXPECT_EQ(said_by("echo $WQ_ONLY", {.environment = variables.data()}), "this\n");
    const Descriptor inherited(::dup(STDERR_FILENO));
    const std::string there =
        "[ -e /proc/self/fd/" + std::to_string(inherited.get()) + " ] && echo open || echo closed";
    EXPECT_EQ(said_by(there), "open\n");
    EXPECT_EQ(said_by(there, {.closes_others = true}), "closed\n");
}

TEST(Child, IsWaitedForNoLongerThanALimit) {
    Pipe in = open_pipe();
    Child child(shell("read line"), {.in = in.read.get()});
    in.read.reset();
    EXPECT_EQ(child.wait_until(instant_now()), std::nullopt);
    EXPECT_TRUE(child.running());
    in.write.reset();
    EXPECT_EQ(child.wait_until(instant_now() + std::chrono::minutes(1)), 1);  // read found the end
    EXPECT_FALSE(child.running());
    EXPECT_EQ(child.take_end(), std::nullopt);
}

// As a program that was started with SIGCHLD ignored.
TEST(Child, EndsWithoutACodeIfTheKernelKeepsNone) {
    const auto before = ::signal(SIGCHLD, SIG_IGN);
    EXPECT_EQ(Child(shell("exit 3"), {}).wait(), Child::unknown_end);
    Child child(shell("exit 3"), {});
    EXPECT_EQ(child.wait_until(instant_now() + std::chrono::minutes(1)), Child::unknown_end);
    EXPECT_FALSE(child.running());
    ::signal(SIGCHLD, before);
    EXPECT_EQ(child.wait(), Child::unknown_end);
}

TEST(Child, IsKilledWithItsGroupWhenItsObjectEnds) {
    Pipe out = open_pipe();
    Pipe in = open_pipe();
    {
        const Child child(shell("tail -f /dev/null & echo begun; wait"),
                          {.in = in.read.get(), .out = out.write.get(), .group = Group::own});
        std::array<char, 6> begun;
        ASSERT_EQ(::read(out.read.get(), begun.data(), begun.size()), 6);
    }
    out.write.reset();
    EXPECT_EQ(all_of(out.read), "");  // ends only when the shell's own child has ended, too
}

TEST(Child, RunsOnIfItIsReleased) {
    Pipe in = open_pipe();
    Pipe out = open_pipe();
    {
        Child child(shell("read line; echo $line"), {.in = in.read.get(), .out = out.write.get()});
        child.release();
    }
    out.write.reset();
    ASSERT_EQ(::write(in.write.get(), "on\n", 3), 3);
    EXPECT_EQ(all_of(out.read), "on\n");
}

}  // namespace
}  // namespace wq
