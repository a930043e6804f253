// The program's tasks that have not ended, by their core ids (program ids less 1). Ended tasks are freed; an
// empty slot costs 8 bytes until its whole block has ended.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/task_data.h"
#include "manager/task_table.h"

namespace wq::api {

// A range of calls submitted at once, until all its calls have ended.
struct RangeTask {
    std::uint64_t first_id = 0;
    std::unique_ptr<TaskData> data;
    IntervalSet open;  // ids of calls that have not ended
    std::uint64_t done = 0;
    std::uint64_t failed = 0;

    std::uint64_t size() const { return data->count(); }
    std::int64_t index_of(std::uint64_t id) const {
        return data->specs->first + static_cast<std::int64_t>(id - first_id);
    }
};

class SubmittedTasks : public manager::TaskTexts {
  public:
    // Ids are consecutive. If memory runs out, nothing changes.
    TaskId add(std::unique_ptr<TaskData>&& task);

    TaskData* find(TaskId task);  // a plain task; null: ended, or part of a range
    std::unique_ptr<TaskData> remove(TaskId task);
    // Memories of removed tasks that nobody else has.
    std::vector<std::shared_ptr<const MemoryFile>> take_memories() { return std::exchange(memories_, {}); }
    // By the program's id; any id of a range finds the range. Null: it has ended.
    TaskData* find_whole(std::int64_t id);
    RangeTask* range_of(TaskId task);  // null: ended, or a plain task
    // Called when its last call has ended.
    std::unique_ptr<TaskData> remove_range(RangeTask& range);

    // Any task with this tag ("": without one); null: none.
    TaskData* tagged(const std::string& tag) const;
    // Visits all tasks that have not ended; a range is visited once.
    template <class F>
    void for_each(F&& visit) {
        for (Block& block : blocks_) {
            if (block.range) visit(*block.range->data);
            for (auto& task : block.tasks)
                if (task) visit(*task);
        }
    }
    std::uint64_t size() const { return next_; }  // ids assigned so far

    manager::TaskText text(TaskId task) const override;
    std::uint64_t line(TaskId) const override { return 0; }
    std::string command(TaskId task) const override;
    records::journal::TaskKey key(TaskId task) const override { return {task.value()}; }
    void describe(const IntervalSet& tasks, net::messages::SealedBatch& sealed) const override;
    void input_ended() override {}

  private:
    struct Block {
        std::uint64_t first = 0;
        std::uint64_t end = 0;
        std::vector<std::unique_ptr<TaskData>> tasks;
        std::size_t live = 0;
        std::unique_ptr<RangeTask> range;  // instead of tasks
    };
    const Block* block_of(TaskId task) const;
    Block* block_of(TaskId task) {
        return const_cast<Block*>(static_cast<const SubmittedTasks*>(this)->block_of(task));
    }
    TaskId place(std::unique_ptr<TaskData>&& task);
    void link(TaskData& task);
    void unlink(TaskData& task);

    std::uint64_t next_ = 0;
    std::vector<Block> blocks_;  // by first; dead blocks are removed once they are many
    std::size_t dead_blocks_ = 0;
    std::vector<std::shared_ptr<const MemoryFile>> memories_;
    std::unordered_map<std::string, TaskData*> heads_;  // first task of each tag's list
};

}  // namespace wq::api
