// A block of shared memory that is passed between processes by its descriptor. It has no name, so nothing is
// left of it when the last process that has it ends, in whatever way.
//
// Its first page counts the users: the processes that hold it, and the messages on their way with it. A
// process that is killed never gives up its part, so the count may be too high, never too low: then a block
// is copied instead of changed, or not used again.
//
// Processes keep mappings of blocks that they dropped. The last one to drop a block decides whether its
// memory is kept, and can free it for all.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/descriptor.h"
#include "base/result.h"

namespace wq::functions::pool {

class Block {
  public:
    // For `bytes` bytes of any value, with one user. All its memory is there: no access ends in SIGBUS.
    // Reuses a block that all have dropped. Error: no memory, no descriptor.
    static Result<std::shared_ptr<Block>> make(std::size_t bytes);
    // Of another process. The caller takes over one of its users.
    static Result<std::shared_ptr<Block>> map(Descriptor file);
    ~Block();
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

    std::byte* data() const { return base_ + head_bytes; }
    std::size_t capacity() const { return mapped_ - head_bytes; }
    int descriptor() const { return file_.get(); }

    void add_user() const { users().fetch_add(1, std::memory_order_relaxed); }
    // The mapping is kept for the next time, while a KeepBlocks lives.
    static void drop_user(std::shared_ptr<Block> block);
    // Of a process that was killed, which will never drop it: its memory is not kept.
    static void abandon(const std::shared_ptr<Block>& block);
    // Whether nobody else sees it. One of before a fork is the parent's: the child has only its bytes. But
    // the parent must leave them as they are, too.
    bool is_ours_alone() const {
        return !inherited() && !seen_by_child() && users().load(std::memory_order_acquire) == 1;
    }
    bool inherited() const;
    // This process has forked since it has the block.
    bool seen_by_child() const;

  private:
    static constexpr std::size_t head_bytes = 4096;
    friend class BlockStore;

    Block(Descriptor file, std::byte* base, const struct stat& facts, bool made_here);
    static Result<std::shared_ptr<Block>> mapped(Descriptor file, const struct stat& facts, bool made_here);
    static Result<std::shared_ptr<Block>> make_new(std::size_t bytes);
    std::atomic<std::uint32_t>& users() const {
        return *reinterpret_cast<std::atomic<std::uint32_t>*>(base_);
    }

    Descriptor file_;
    std::byte* base_;
    std::size_t mapped_;
    ino_t number_;    // of the file, which no other has while it is mapped
    bool made_here_;  // not mapped from another process
    bool abandoned_ = false;
    bool retired_here_ = false;
    std::uint64_t process_;   // counts forks, in each child,
    std::uint64_t children_;  // and in each parent
};

// While one exists, a process keeps mappings of blocks that it has dropped, with their descriptors: at most
// 64 (a 16th of the descriptors it may have), and at most `bytes` bytes of those that nobody uses.
class KeepBlocks {
  public:
    explicit KeepBlocks(std::size_t bytes);
    ~KeepBlocks();
    KeepBlocks(const KeepBlocks&) = delete;
    KeepBlocks& operator=(const KeepBlocks&) = delete;

  private:
    std::size_t bytes_;
};

}  // namespace wq::functions::pool
