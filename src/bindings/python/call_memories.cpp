#include "bindings/python/call_memories.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "bindings/python/waits.h"

namespace wq::bindings::python {

namespace {

constexpr std::size_t most_kept = 4;
constexpr std::uint64_t most_bytes_kept = 512 << 20;
constexpr rlim_t most_descriptors = 512;

// A long queue of large calls must leave descriptors for the program and its connections: half of all, and
// half of those that select() takes.
int descriptor_below() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    return static_cast<int>(std::min<rlim_t>(most_descriptors, limit.rlim_cur / 2));
}

}  // namespace

CallMemories::Shared CallMemories::with(const std::vector<std::string_view>& parts) {
    std::uint64_t size = 0;
    for (const std::string_view part : parts) size += part.size();
    const auto free =
        std::find_if(last_.begin(), last_.end(), [&](const std::shared_ptr<MemoryFile>& memory) {
            return memory.use_count() == 1 && memory->is_for(size);
        });
    if (free != last_.end()) {
        std::atomic_thread_fence(std::memory_order_acquire);  // the manager's thread may have read it
        std::shared_ptr<MemoryFile> memory = std::move(*free);
        last_.erase(free);
        if (without_lock([&] { return memory->refill(parts); })) return keep(std::move(memory));
    }
    auto memory = without_lock([&] { return MemoryFile::with(parts, descriptor_below()); });
    return memory ? keep(std::make_shared<MemoryFile>(std::move(*memory))) : nullptr;
}

CallMemories::Shared CallMemories::keep(std::shared_ptr<MemoryFile> memory) {
    last_.push_back(memory);
    std::uint64_t bytes = 0;
    for (const std::shared_ptr<MemoryFile>& one : last_) bytes += one->capacity();
    while (!last_.empty() && (last_.size() > most_kept || bytes > most_bytes_kept)) {
        bytes -= last_.front()->capacity();
        last_.erase(last_.begin());
    }
    return memory;
}

}  // namespace wq::bindings::python
