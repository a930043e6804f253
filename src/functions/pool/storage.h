// The elements of an array: on the heap, or in a block of shared memory.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "base/result.h"
#include "functions/pool/block.h"
#include "work_queue/batch.h"

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
