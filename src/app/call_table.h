// Calls of functions by task id. A waiting call costs 40 bytes besides its arguments (which cost nothing more
// up to 15 bytes); a call that was forgotten nothing, once its 4096 neighbours are; a range nothing per task.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/task_texts.h"

namespace wq::app {

class CallTable : public TaskTexts {
  public:
    std::uint64_t size() const { return size_; }

    TaskId add(wire::Call call);
    // `count` calls with the one argument first_index, first_index + 1, ...; the first one's id.
    TaskId add_range(const std::string& function, core::CallMode mode, std::int64_t first_index,
                     std::uint64_t count);
    // It has ended: its arguments are freed. Of a range: nothing to do.
    void forget(TaskId task);

    TaskText text(TaskId task) const override;
    std::uint64_t line(TaskId) const override { return 0; }
    std::string command(TaskId task) const override;  // "area(17 bytes)", "square(42)"
    stats::TaskKey key(TaskId task) const override { return {task.value()}; }
    void describe(const IntervalSet& tasks, wire::SealedBatch& sealed) const override;
    void input_ended() override {}

  private:
    static constexpr std::size_t calls_of_block = 4096;
    struct Slot {
        std::string arguments;
        std::uint32_t name = 0;
        core::CallMode mode = core::CallMode::fork;
        bool forgotten = false;
    };
    struct Block {
        std::uint64_t first = 0;
        std::uint64_t count = 0;
        // Of single calls; empty once all are forgotten.
        std::vector<Slot> slots;
        std::uint64_t forgotten = 0;
        // Of a range.
        bool range = false;
        std::uint32_t name = 0;
        core::CallMode mode = core::CallMode::fork;
        std::int64_t first_index = 0;
    };

    const Block& block_of(TaskId task) const;
    std::uint32_t name_of(const std::string& function);

    std::uint64_t size_ = 0;
    std::vector<Block> blocks_;
    std::vector<std::string> names_;
};

// The argument list of a call in a range: a msgpack array of the index.
std::string index_arguments(std::int64_t index);

}  // namespace wq::app
