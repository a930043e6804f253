#include "api/submitted_tasks.h"

#include <algorithm>
#include <iterator>

#include "base/units.h"

namespace wq::api {

namespace {

constexpr std::uint64_t tasks_of_a_block = 1024;

net::messages::Call call_of(const TaskData& task, std::string arguments) {
    return {task.text, std::move(arguments), static_cast<engine::model::CallMode>(task.mode),
            task.specs ? task.specs->coprocess : std::string()};
}

// A msgpack array of one integer.
std::string pack_index(std::int64_t index) {
    std::string bytes("\x91\xd3", 2);
    for (int shift = 56; shift >= 0; shift -= 8)
        bytes += static_cast<char>((static_cast<std::uint64_t>(index) >> shift) & 0xff);
    return bytes;
}

}  // namespace

TaskId SubmittedTasks::add(std::unique_ptr<TaskData>&& task) {
    TaskData& added = *task;
    link(added);
    try {
        return place(std::move(task));
    } catch (const std::bad_alloc&) {
        unlink(added);
        throw;
    }
}

TaskId SubmittedTasks::place(std::unique_ptr<TaskData>&& task) {
    const TaskId id(next_);
    if (task->kind == TaskKind::range) {
        Block block;
        block.first = next_;
        block.end = next_ + task->count();
        block.live = 1;
        block.range = std::make_unique<RangeTask>();
        block.range->first_id = next_;
        block.range->open.insert(Interval{block.first, block.end});
        blocks_.push_back(std::move(block));
        blocks_.back().range->data = std::move(task);
        next_ = blocks_.back().end;
        return id;
    }
    if (blocks_.empty() || blocks_.back().range ||
        blocks_.back().end - blocks_.back().first >= tasks_of_a_block || blocks_.back().end != next_) {
        Block block;
        block.first = block.end = next_;
        blocks_.push_back(std::move(block));
    }
    Block& block = blocks_.back();
    const bool was_dead = block.live == 0 && !block.tasks.empty();
    block.tasks.push_back(std::move(task));
    if (was_dead) --dead_blocks_;
    ++block.live;
    block.end = ++next_;
    return id;
}

const SubmittedTasks::Block* SubmittedTasks::block_of(TaskId task) const {
    const auto after =
        std::upper_bound(blocks_.begin(), blocks_.end(), task.value(),
                         [](std::uint64_t id, const Block& block) { return id < block.first; });
    if (after == blocks_.begin()) return nullptr;
    const Block& block = *std::prev(after);
    return task.value() < block.end ? &block : nullptr;
}

TaskData* SubmittedTasks::find(TaskId task) {
    Block* block = block_of(task);
    if (block == nullptr || block->range) return nullptr;
    return block->tasks[task.value() - block->first].get();
}

std::unique_ptr<TaskData> SubmittedTasks::remove(TaskId task) {
    Block* block = block_of(task);
    if (block == nullptr || block->range) return nullptr;
    std::unique_ptr<TaskData>& kept = block->tasks[task.value() - block->first];
    if (!kept) return nullptr;
    if (kept->memory.use_count() == 1) memories_.push_back(std::move(kept->memory));
    kept->memory.reset();
    std::unique_ptr<TaskData> taken = std::move(kept);
    unlink(*taken);
    if (--block->live == 0) ++dead_blocks_;
    // Removal once half the blocks are dead keeps the mean cost constant. The last block still grows.
    if (dead_blocks_ > 16 && 2 * dead_blocks_ > blocks_.size()) {
        const std::uint64_t growing = blocks_.back().first;
        std::erase_if(blocks_, [&](const Block& one) { return one.live == 0 && one.first != growing; });
        dead_blocks_ = blocks_.back().live == 0 ? 1 : 0;
    }
    return taken;
}

TaskData* SubmittedTasks::find_whole(std::int64_t id) {
    const TaskId task(static_cast<std::uint64_t>(id) - 1);
    const RangeTask* range = range_of(task);
    return range != nullptr ? range->data.get() : find(task);
}

RangeTask* SubmittedTasks::range_of(TaskId task) {
    Block* block = block_of(task);
    return block == nullptr ? nullptr : block->range.get();
}

std::unique_ptr<TaskData> SubmittedTasks::remove_range(RangeTask& range) {
    Block* block = block_of(TaskId(range.first_id));
    std::unique_ptr<TaskData> taken = std::move(block->range->data);
    unlink(*taken);
    blocks_.erase(blocks_.begin() + (block - blocks_.data()));
    return taken;
}

// ---- tags: a list linked through the tasks ----

void SubmittedTasks::link(TaskData& task) {
    TaskData*& head = heads_[task.tag];
    task.before = nullptr;
    task.after = head;
    if (head != nullptr) head->before = &task;
    head = &task;
}

void SubmittedTasks::unlink(TaskData& task) {
    if (task.after != nullptr) task.after->before = task.before;
    if (task.before != nullptr)
        task.before->after = task.after;
    else if (task.after != nullptr)
        heads_[task.tag] = task.after;
    else
        heads_.erase(task.tag);
    task.before = task.after = nullptr;
}

TaskData* SubmittedTasks::tagged(const std::string& tag) const {
    const auto found = heads_.find(tag);
    return found == heads_.end() ? nullptr : found->second;
}

// ---- as the manager sees them ----

manager::TaskText SubmittedTasks::text(TaskId task) const {
    manager::TaskText text;
    const Block* block = block_of(task);
    if (block == nullptr) return text;
    if (block->range) {
        text.call = call_of(*block->range->data, pack_index(block->range->index_of(task.value())));
        return text;
    }
    const TaskData* data = block->tasks[task.value() - block->first].get();
    if (data == nullptr) return text;
    if (data->kind == TaskKind::call) {
        text.call = call_of(*data, data->arguments);
        text.memory = data->memory;
    } else {
        text.command = data->text;
    }
    if (data->specs) {
        text.variables = data->specs->environment;
        text.files = data->specs->files;
    }
    return text;
}

std::string SubmittedTasks::command(TaskId task) const {
    const Block* block = block_of(task);
    if (block == nullptr) return {};
    if (block->range)
        return block->range->data->text + "(" + std::to_string(block->range->index_of(task.value())) + ")";
    const TaskData* data = block->tasks[task.value() - block->first].get();
    if (data == nullptr) return {};
    return data->text_for_people();
}

void SubmittedTasks::describe(const IntervalSet& tasks, net::messages::SealedBatch& sealed) const {
    if (tasks.empty()) return;
    const Block* block = block_of(TaskId(tasks.front()->first));
    if (block == nullptr || !block->range) return;
    bool all = true;
    tasks.for_each([&](Interval part) { all = all && part.first >= block->first && part.end <= block->end; });
    if (!all) return;
    sealed.call = call_of(*block->range->data, {});
    sealed.first_index = block->range->data->specs->first;
    sealed.first_item = TaskId(block->first);
}

}  // namespace wq::api
