// The elements of an array: on the heap, or in a block of shared memory.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/descriptor.h"
#include "base/result.h"
#include "work_queue/batch.h"

// A block of shared memory that is passed between processes by its descriptor. It has no name, so nothing is
// left of it when the last process that has it ends, in whatever way.
//
// Its first page counts the users: the processes that hold it, and the messages on their way with it. A
// process that is killed never gives up its part, so the count may be too high, never too low: then a block
// is copied instead of changed, or not used again.
//
// Processes keep mappings of blocks that they dropped. The last one to drop a block decides whether its
// memory is kept, and can free it for all.

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
    // For a process that was killed and will never drop the block: the block's memory is not kept.
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

    enum class Made : std::uint8_t { here, elsewhere };
    Block(Descriptor file, std::byte* base, const struct stat& facts, Made made);
    static Result<std::shared_ptr<Block>> mapped(Descriptor file, const struct stat& facts, Made made);
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
    std::size_t bytes() const { return bytes_; }

  private:
    std::size_t bytes_;
};

}  // namespace wq::functions::pool

namespace wq::executor {  // the name that work_queue/batch.h, a public header, gives it

using functions::pool::Block;

// Below, copying the elements into a message and out of it costs less than a descriptor.
inline constexpr std::size_t largest_on_heap = 32 << 10;

class Storage {
  public:
    // Throws BatchError.
    static std::shared_ptr<Storage> make(std::size_t bytes);
    // Takes over one user of the block.
    explicit Storage(std::shared_ptr<Block> block) : block_(std::move(block)), data_(block_->data()) {}
    explicit Storage(std::size_t bytes);
    ~Storage();
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;

    std::byte* data() const { return data_; }
    const std::shared_ptr<Block>& block() const { return block_; }  // null: on the heap
    bool seen_by_others() const { return block_ && !block_->is_ours_alone(); }

  private:
    std::shared_ptr<Block> block_;
    std::byte* data_ = nullptr;
};

// What the codec does with arrays.
struct ArrayAccess {
    static const std::shared_ptr<Storage>& storage(const Array& array) { return array.storage_; }
    static Array make(ElementType type, Array::Shape shape, std::size_t bytes,
                      std::shared_ptr<Storage> storage) {
        Array array;
        array.type_ = type;
        array.shape_ = std::move(shape);
        array.bytes_ = bytes;
        array.storage_ = std::move(storage);
        return array;
    }
};

// nullopt: more than any memory.
std::optional<std::size_t> bytes_of_shape(ElementType type, const Array::Shape& shape);

}  // namespace wq::executor

// Whether memory is left for a block, by what the kernel says of the machine and of our control group.
// Without this check, a batch that is too large would not be an error: the kernel would kill some process for
// it.

namespace wq::functions::pool {

// Reads files of /proc and /sys, which takes about 50 us. Error: it names what is left.
Status check_memory_room(std::size_t bytes);

// What an executor with so many workers keeps of the memory of dropped arrays, in each of its processes: of
// all memory an eighth for all of them.
std::size_t memory_to_keep(std::size_t workers);

}  // namespace wq::functions::pool
