#include "app/call_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "wire/msgpack_library.h"

namespace wq::app {

std::uint32_t CallTable::name_of(const std::string& function) {
    const auto found = std::find(names_.rbegin(), names_.rend(), function);
    if (found != names_.rend()) return static_cast<std::uint32_t>(names_.rend() - found - 1);
    names_.push_back(function);
    return static_cast<std::uint32_t>(names_.size() - 1);
}

TaskId CallTable::add(wire::Call call) {
    if (blocks_.empty() || blocks_.back().range || blocks_.back().count == calls_of_block) {
        blocks_.emplace_back();
        blocks_.back().first = size_;
    }
    Block& block = blocks_.back();
    block.slots.push_back({std::move(call.arguments), name_of(call.function), call.mode, false});
    ++block.count;
    return TaskId(size_++);
}

TaskId CallTable::add_range(const std::string& function, core::CallMode mode, std::int64_t first_index,
                            std::uint64_t count) {
    Block block;
    block.first = size_;
    block.count = count;
    block.range = true;
    block.name = name_of(function);
    block.mode = mode;
    block.first_index = first_index;
    blocks_.push_back(std::move(block));
    return TaskId(std::exchange(size_, size_ + count));
}

const CallTable::Block& CallTable::block_of(TaskId task) const {
    const auto after =
        std::upper_bound(blocks_.begin(), blocks_.end(), task.value(),
                         [](std::uint64_t id, const Block& block) { return id < block.first; });
    return *std::prev(after);
}

void CallTable::forget(TaskId task) {
    auto& block = const_cast<Block&>(block_of(task));
    if (block.range || block.slots.empty()) return;
    Slot& slot = block.slots[task.value() - block.first];
    if (std::exchange(slot.forgotten, true)) return;
    std::exchange(slot.arguments, {});
    if (++block.forgotten == calls_of_block) std::exchange(block.slots, {});
}

TaskText CallTable::text(TaskId task) const {
    const Block& block = block_of(task);
    TaskText text;
    if (block.range) {
        const std::uint64_t index =
            static_cast<std::uint64_t>(block.first_index) + task.value() - block.first;
        text.call = {names_[block.name], index_arguments(static_cast<std::int64_t>(index)), block.mode};
        return text;
    }
    text.call.emplace();
    if (block.slots.empty()) return text;
    const Slot& slot = block.slots[task.value() - block.first];
    text.call = {names_[slot.name], slot.arguments, slot.mode};
    return text;
}

std::string CallTable::command(TaskId task) const {
    const Block& block = block_of(task);
    const std::uint64_t place = task.value() - block.first;
    if (block.range) {
        const auto index = static_cast<std::int64_t>(static_cast<std::uint64_t>(block.first_index) + place);
        return names_[block.name] + "(" + std::to_string(index) + ")";
    }
    if (block.slots.empty()) return "";
    const Slot& slot = block.slots[place];
    return names_[slot.name] + "(" + std::to_string(slot.arguments.size()) + " bytes)";
}

void CallTable::describe(const IntervalSet& tasks, wire::SealedBatch& sealed) const {
    const auto first = tasks.front();
    if (!first) return;
    const Block& block = block_of(TaskId(first->first));
    bool all = block.range;
    tasks.for_each([&](Interval part) { all = all && part.end <= block.first + block.count; });
    if (!all) return;
    sealed.call = wire::Call{names_[block.name], {}, block.mode};
    sealed.first_item = TaskId(block.first);
    sealed.first_index = block.first_index;
}

std::string index_arguments(std::int64_t index) {
    std::string bytes;
    struct Sink {
        std::string& bytes;
        void write(const char* data, std::size_t size) { bytes.append(data, size); }
    } sink{bytes};
    msgpack::packer<Sink> packer(sink);
    packer.pack_array(1);
    packer.pack(index);
    return bytes;
}

}  // namespace wq::app
