#include "functions/pool/storage.h"

#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>

#include "functions/pool/channel.h"
#include "functions/pool/page.h"
#include "node/process/passed_descriptors.h"
#include "support.h"

namespace wq::functions::pool {
namespace {

constexpr std::size_t megabyte = std::size_t{1} << 20;

// Another process, which is sent a block and drops it at once.
class OtherProcess {
  public:
    enum class First : std::uint8_t { nothing, fork };
    explicit OtherProcess(std::size_t keeps, First first = First::nothing) {
        EXPECT_TRUE(socket_pair(ends_));
        child_ = ::fork();
        if (child_ == 0) live(keeps, first);
        ends_[1].reset();
    }
    ~OtherProcess() {
        ends_[0].reset();
        EXPECT_EQ(waitpid(child_, &status_, 0), child_);
        EXPECT_EQ(status_, 0);
    }
    void send(const std::shared_ptr<Block>& block) {
        block->add_user();
        const auto sent = send_blocks(ends_[0].get(), {block}, nullptr);
        EXPECT_TRUE(sent && *sent == Sent::yes);
    }
    void let_drop() {
        char mark = 'd';
        EXPECT_EQ(write(ends_[0].get(), &mark, 1), 1);
        EXPECT_EQ(read(ends_[0].get(), &mark, 1), 1);
    }

  private:
    [[noreturn]] void live(std::size_t keeps, First first) {
        ends_[0].reset();
        const KeepBlocks keep_blocks(keeps);
        std::vector<Descriptor> files;
        char mark = 0;
        node::process::receive_descriptors(ends_[1].get(), node::process::writable_bytes_of_value(mark),
                                           files);
        auto block = files.empty() ? Error{} : Block::map(std::move(files.front()));
        if (!block) _exit(1);
        if (first == First::fork && ::fork() == 0) _exit(0);
        if (read(ends_[1].get(), &mark, 1) != 1) _exit(2);
        Block::drop_user(std::move(*block));
        if (write(ends_[1].get(), &mark, 1) != 1) _exit(3);
        static_cast<void>(!read(ends_[1].get(), &mark, 1));
        _exit(0);
    }

    Descriptor ends_[2];
    pid_t child_ = -1;
    int status_ = -1;
};

struct stat facts_of(const Descriptor& file) {
    struct stat facts {};
    fstat(file.get(), &facts);
    return facts;
}
std::size_t memory_of(const Descriptor& file) {
    return static_cast<std::size_t>(facts_of(file).st_blocks) * 512;
}

std::shared_ptr<Block> block_of(std::size_t bytes) {
    auto made = Block::make(bytes);
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
}

// It is more than this process keeps.
TEST(Block, IsFreedByTheLastOneThatUsedItThoughOthersKeepAMapping) {
    OtherProcess other(100 * megabyte);
    const KeepBlocks keep_blocks(megabyte);
    auto block = block_of(4 * megabyte);
    const Descriptor file(dup(block->descriptor()));
    other.send(block);
    other.let_drop();
    EXPECT_GE(memory_of(file), 4 * megabyte);
    Block::drop_user(std::move(block));
    EXPECT_LE(memory_of(file), std::size_t{8192});
}

TEST(Block, IsNotUsedAgainOnceAnotherHasFreedIt) {
    OtherProcess other(megabyte);
    const KeepBlocks keep_blocks(100 * megabyte);
    auto block = block_of(4 * megabyte);
    const Descriptor file(dup(block->descriptor()));
    other.send(block);
    Block::drop_user(std::move(block));
    other.let_drop();
    EXPECT_LE(memory_of(file), std::size_t{8192});
    const Descriptor next(dup(block_of(4 * megabyte)->descriptor()));
    EXPECT_NE(facts_of(next).st_ino, facts_of(file).st_ino);
    EXPECT_GE(memory_of(next), 4 * megabyte);
}

TEST(Block, ThatAChildOfAnotherSeesIsNotUsedAgain) {
    OtherProcess other(100 * megabyte, OtherProcess::First::fork);
    const KeepBlocks keep_blocks(100 * megabyte);
    auto block = block_of(megabyte);
    const Descriptor file(dup(block->descriptor()));
    other.send(block);
    other.let_drop();
    Block::drop_user(std::move(block));
    const Descriptor next(dup(block_of(megabyte)->descriptor()));
    EXPECT_NE(facts_of(next).st_ino, facts_of(file).st_ino);
}

// By a batch, and by a job that may be tried again: else it would take the room of others.
TEST(Block, IsKeptOnceHoweverOftenItIsDropped) {
    const KeepBlocks keep_blocks(5 * megabyte);
    auto small = block_of(megabyte);
    const Descriptor file(dup(small->descriptor()));
    auto large = block_of(3 * megabyte);
    Block::drop_user(std::move(small));
    large->add_user();
    Block::drop_user(large);
    Block::drop_user(std::move(large));
    const Descriptor again(dup(block_of(megabyte)->descriptor()));
    EXPECT_EQ(facts_of(again).st_ino, facts_of(file).st_ino);
}

// A signal comes in all calls for more than 1 MB.
TEST(SharedFile, IsAllocatedInPartsThatSignalsLeave) {
    std::size_t allocated = 0;
    int calls = 0;
    const auto allocate = [&](std::size_t from, std::size_t bytes) {
        EXPECT_EQ(from, allocated);
        if (++calls > 1000) return EIO;
        if (bytes > megabyte) return EINTR;
        allocated += bytes;
        return 0;
    };
    EXPECT_EQ(in_steps(64 * megabyte + 5, allocate), 0);
    EXPECT_EQ(allocated, 64 * megabyte + 5);
    EXPECT_EQ(in_steps(megabyte, [](std::size_t, std::size_t) { return ENOSPC; }), ENOSPC);
}

// As a profiler's timer does, which Linux 6.1 lets interrupt an allocation, and 6.18 does not.
TEST(Block, IsMadeWhileSignalsCome) {
    struct sigaction nothing {};
    nothing.sa_handler = [](int) {};
    struct sigaction before {};
    sigaction(SIGALRM, &nothing, &before);
    const itimerval often{{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &often, nullptr);
    const auto block = Block::make(64 * megabyte);
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &before, nullptr);
    ASSERT_TRUE(block) << block.error().message;
    EXPECT_GE((*block)->capacity(), 64 * megabyte);
}

}  // namespace
}  // namespace wq::functions::pool
