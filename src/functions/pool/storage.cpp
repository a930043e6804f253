#include "functions/pool/storage.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include "base/units.h"
#include "functions/pool/page.h"
#include "node/machine/allowance.h"

namespace wq::functions::pool {

namespace {

// What stays free, for all else that needs memory at that moment.
constexpr std::int64_t kept_free = std::int64_t{64} << 20;

std::optional<std::int64_t> memory_available() {
    std::ifstream in("/proc/meminfo");
    std::string name;
    for (std::int64_t kb = 0; in >> name >> kb; in.ignore(16, '\n'))
        if (name == "MemAvailable:") return kb * 1024;
    return std::nullopt;
}

}  // namespace

Status check_memory_room(std::size_t bytes) {
    std::optional<std::int64_t> left = memory_available();
    if (const auto of_group = node::machine::memory_left())
        left = left ? std::min(*left, *of_group) : *of_group;
    if (!left) return success();
    const std::int64_t usable = std::max<std::int64_t>(0, *left - kept_free);
    if (bytes <= static_cast<std::size_t>(usable)) return success();
    return Error{ExitCode::unreachable,
                 "no memory is left for an array of " +
                     format_size(static_cast<std::int64_t>(std::min(bytes, std::size_t{1} << 62))) + ": " +
                     format_size(usable) + " are available"};
}

std::size_t memory_to_keep(std::size_t workers) {
    std::int64_t all = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    if (const auto of_group = node::machine::memory_limit()) all = std::min(all, *of_group);
    return static_cast<std::size_t>(std::max<std::int64_t>(all, 0)) / 8 / (workers + 1);
}

namespace {

// Reading how much is left takes as long as making a small block, so it is done once for so many bytes.
constexpr std::size_t checked_every = std::size_t{16} << 20;

// As the number of users: there will be none any more.
constexpr std::uint32_t retired = std::uint32_t{1} << 31;

constexpr std::size_t most_kept = 64;

// Each has a descriptor, of which the program needs most.
std::size_t blocks_to_keep() {
    constexpr rlim_t part = 16;
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    return std::min<rlim_t>(most_kept, limit.rlim_cur / part);
}

Error no_room(const char* what, std::size_t bytes, int error) {
    std::string why = strerror(error);
    if (error == EMFILE || error == ENFILE) why += " (raise `ulimit -n`, or hold fewer large arrays)";
    return {ExitCode::unreachable,
            std::string(what) + " of " + format_size(static_cast<std::int64_t>(bytes)) + ": " + why};
}

}  // namespace

// Blocks that this process dropped, the last one at the end. Page faults of fresh memory, and of memory that
// is mapped anew, cost far more than handing a block over: so its own blocks are kept for new arrays, and
// those of others because they come again.
class BlockStore {
  public:
    // Never destroyed: arrays may outlive static objects.
    static BlockStore& of_process() { return *current().store.load(std::memory_order_relaxed); }
    static std::uint64_t process() { return current().process.load(std::memory_order_relaxed); }
    static std::uint64_t children() { return current().children.load(std::memory_order_relaxed); }

    // One of ours with at least so many bytes and at most twice as many, that nobody uses.
    std::shared_ptr<Block> take(std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        for (std::size_t at = kept_.size(); at-- > 0;) {
            Block& block = *kept_[at];
            if (!block.made_here_ || block.capacity() < bytes || block.capacity() / 2 > bytes) continue;
            std::uint32_t none = 0;
            if (!block.users().compare_exchange_strong(none, 1, std::memory_order_acquire)) continue;
            auto found = take_out(at);
            found->children_ = children();
            return found;
        }
        return nullptr;
    }
    // The one that is mapped from this file.
    std::shared_ptr<Block> find(ino_t file, std::size_t mapped) {
        const std::lock_guard lock(mutex_);
        for (std::size_t at = kept_.size(); at-- > 0;)
            if (kept_[at]->number_ == file && kept_[at]->mapped_ == mapped) {
                auto found = take_out(at);
                found->children_ = children();
                return found;
            }
        return nullptr;
    }
    // Allocates nothing, as destructors call it.
    void keep(std::shared_ptr<Block> block) {
        std::shared_ptr<Block> given_up;  // unmapped without the lock
        {
            const std::lock_guard lock(mutex_);
            given_up = add(std::move(block));
        }
        do given_up = one_too_many();
        while (given_up);
    }
    void abandon(Block& block) {
        std::shared_ptr<Block> given_up;
        const std::lock_guard lock(mutex_);
        block.abandoned_ = true;
        for (std::size_t at = kept_.size(); at-- > 0;)
            if (kept_[at].get() == &block) given_up = take_out(at);
    }
    // The room for a new block, as long as other blocks are kept for nothing.
    void give_up_all() {
        std::shared_ptr<Block> given_up;
        do given_up = give_up(0);
        while (given_up);
    }
    void add_keeper(std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        kept_.reserve(2 * most_kept);
        keepers_.push_back(bytes);
        most_bytes_ = *std::max_element(keepers_.begin(), keepers_.end());
    }
    void remove_keeper(std::size_t bytes) {
        {
            const std::lock_guard lock(mutex_);
            keepers_.erase(std::find(keepers_.begin(), keepers_.end(), bytes));
            most_bytes_ = keepers_.empty() ? 0 : *std::max_element(keepers_.begin(), keepers_.end());
            if (most_bytes_ > 0) return;
        }
        give_up_all();
    }
    Status check_room(std::size_t bytes) {
        {
            const std::lock_guard lock(mutex_);
            if (bytes < checked_every - unchecked_) {
                unchecked_ += bytes;
                return success();
            }
        }
        Status there = check_memory_room(bytes);
        if (!there) {
            give_up_all();
            there = check_memory_room(bytes);
        }
        const std::lock_guard lock(mutex_);
        unchecked_ = there ? 0 : checked_every;  // the next one is checked, too
        return there;
    }

  private:
    static bool unused(const Block& block) { return block.users().load(std::memory_order_acquire) == 0; }
    // If nobody uses it, nobody will again.
    static void retire(Block& block) {
        std::uint32_t none = 0;
        block.retired_here_ = block.users().compare_exchange_strong(none, retired, std::memory_order_acq_rel);
    }
    // Each block once, however often it is dropped: by a batch, and by a job that may be tried again. Returns
    // one that is not kept.
    std::shared_ptr<Block> add(std::shared_ptr<Block> block) {
        if (most_bytes_ == 0 || block->abandoned_ || kept_.size() == kept_.capacity()) {
            retire(*block);
            return block;
        }
        const auto twin = std::find_if(kept_.begin(), kept_.end(), [&](const auto& one) {
            return one->number_ == block->number_ && one->mapped_ == block->mapped_;
        });
        std::shared_ptr<Block> other;
        if (twin != kept_.end()) {
            if ((*twin)->made_here_) twin->swap(block);
            other = std::move(*twin);
            kept_.erase(twin);
        }
        kept_.push_back(std::move(block));
        return other;
    }
    // The oldest of those that are more than is kept.
    std::shared_ptr<Block> one_too_many() {
        const std::size_t most_blocks = blocks_to_keep();
        const std::lock_guard lock(mutex_);
        if (kept_.size() > most_blocks) return give_up_locked(0);
        // What others use takes no memory here: whoever is the last to use it counts it, and frees it for
        // all.
        std::size_t bytes = 0;
        std::size_t oldest = kept_.size();
        for (std::size_t at = kept_.size(); at-- > 0;) {
            if (!unused(*kept_[at])) continue;
            bytes += kept_[at]->mapped_;
            oldest = at;
        }
        return bytes > most_bytes_ ? give_up_locked(oldest) : nullptr;
    }
    std::shared_ptr<Block> give_up(std::size_t at) {
        const std::lock_guard lock(mutex_);
        return give_up_locked(at);
    }
    std::shared_ptr<Block> give_up_locked(std::size_t at) {
        if (at >= kept_.size()) return nullptr;
        retire(*kept_[at]);
        return take_out(at);
    }
    std::shared_ptr<Block> take_out(std::size_t at) {
        std::shared_ptr<Block> found = std::move(kept_[at]);
        kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(at));
        return found;
    }

    struct Current {
        std::atomic<BlockStore*> store;
        std::atomic<std::uint64_t> process{0};
        std::atomic<std::uint64_t> children{0};
        std::vector<BlockStore*> parents;
        // A forked process has none of its parent's blocks, whose descriptors may be closed there.
        Current() : store(new BlockStore) { pthread_atfork(nullptr, has_child, forked); }
    };
    static Current& current() {
        static auto& current = *new Current;
        return current;
    }
    static void has_child() { ++current().children; }
    static void forked() {
        current().parents.push_back(current().store);
        current().store = new BlockStore;
        ++current().process;
    }

    std::mutex mutex_;
    std::vector<std::shared_ptr<Block>> kept_;
    std::size_t unchecked_ = 0;
    std::vector<std::size_t> keepers_;
    std::size_t most_bytes_ = 0;  // 0: nothing is kept
};

Result<std::shared_ptr<Block>> Block::mapped(Descriptor file, const struct stat& facts, Made made) {
    const auto bytes = static_cast<std::size_t>(facts.st_size);
    void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (base == MAP_FAILED) return no_room("cannot map shared memory", bytes, errno);
    return std::shared_ptr<Block>(new Block(std::move(file), static_cast<std::byte*>(base), facts, made));
}

Result<std::shared_ptr<Block>> Block::make_new(std::size_t bytes) {
    constexpr std::size_t most = std::size_t{1} << 62;
    if (bytes > most) return no_room("cannot make shared memory", most, ENOMEM);
    if (Status there = BlockStore::of_process().check_room(bytes); !there) return there.error();
    const std::size_t all = (bytes + head_bytes + 4095) / 4096 * 4096;
    Descriptor file = make_shared_file("work_queue", all);
    if (!file.valid() && errno == EMFILE) {
        BlockStore::of_process().give_up_all();
        file = make_shared_file("work_queue", all);
    }
    if (!file.valid()) return no_room("cannot make shared memory", all, errno);
    struct stat facts {};
    if (fstat(file.get(), &facts) != 0) return no_room("cannot make shared memory", all, errno);
    return mapped(std::move(file), facts, Made::here);
}

Result<std::shared_ptr<Block>> Block::make(std::size_t bytes) {
    if (auto kept = BlockStore::of_process().take(bytes)) return kept;
    auto made = make_new(bytes);
    if (made) (*made)->users().store(1, std::memory_order_relaxed);
    return made;
}

Result<std::shared_ptr<Block>> Block::map(Descriptor file) {
    struct stat facts {};
    if (fstat(file.get(), &facts) != 0 || facts.st_size < static_cast<off_t>(head_bytes))
        return Error{ExitCode::internal, "a descriptor of no shared memory came with a batch"};
    if (auto kept = BlockStore::of_process().find(facts.st_ino, static_cast<std::size_t>(facts.st_size)))
        return kept;
    return mapped(std::move(file), facts, Made::elsewhere);
}

Block::Block(Descriptor file, std::byte* base, const struct stat& facts, Made made)
    : file_(std::move(file)),
      base_(base),
      mapped_(static_cast<std::size_t>(facts.st_size)),
      number_(facts.st_ino),
      made_here_(made == Made::here),
      process_(BlockStore::process()),
      children_(BlockStore::children()) {}

Block::~Block() {
    if (inherited()) file_.release();
    // Frees the memory also where other processes keep a mapping.
    if (retired_here_)
        fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, head_bytes,
                  static_cast<off_t>(mapped_ - head_bytes));
    munmap(base_, mapped_);
}

void Block::abandon(const std::shared_ptr<Block>& block) {
    BlockStore::of_process().abandon(*block);
}

bool Block::inherited() const {
    return process_ != BlockStore::process();
}

bool Block::seen_by_child() const {
    return children_ != BlockStore::children();
}

void Block::drop_user(std::shared_ptr<Block> block) {
    // What a child of the program sees has a user for ever, so that nobody uses the memory again.
    if (block->inherited() || block->seen_by_child()) return;
    block->users().fetch_sub(1, std::memory_order_acq_rel);
    BlockStore::of_process().keep(std::move(block));
}

KeepBlocks::KeepBlocks(std::size_t bytes) : bytes_(bytes) {
    BlockStore::of_process().add_keeper(bytes_);
}
KeepBlocks::~KeepBlocks() {
    BlockStore::of_process().remove_keeper(bytes_);
}

}  // namespace wq::functions::pool
