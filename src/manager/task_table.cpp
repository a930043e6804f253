#include "manager/task_table.h"

#include <algorithm>
#include <iterator>

#include "base/environment_changes.h"

namespace wq::manager {

namespace {
constexpr std::size_t block_bytes = 4u << 20;
}

TaskId TaskTable::add_text(std::string_view text, std::uint64_t line,
                           const engine::tasklist::CommandTemplate* each) {
    if (blocks_.empty() || blocks_.back().text.size() + text.size() > block_bytes ||
        blocks_.back().each != each || blocks_.back().first + blocks_.back().ends.size() != size_) {
        close_block();
        blocks_.emplace_back();
        blocks_.back().first = size_;
        blocks_.back().first_line = line;
        blocks_.back().each = each;
    }
    Block& block = blocks_.back();
    block.text.append(text);
    block.ends.push_back(static_cast<std::uint32_t>(block.text.size()));
    block.lines.push_back(static_cast<std::uint32_t>(line - block.first_line));
    const std::uint32_t equal = seen_[engine::tasklist::content_key(text, 0)]++;
    if (equal > 0 || !block.equal.empty()) {
        block.equal.resize(block.ends.size() - 1);
        block.equal.push_back(equal);
    }
    return TaskId(size_++);
}

// Nothing more is added to the last block, so frees the reserve of its vectors.
void TaskTable::close_block() {
    if (blocks_.empty()) return;
    Block& block = blocks_.back();
    block.text.shrink_to_fit();
    for (std::vector<std::uint32_t>* numbers : {&block.ends, &block.lines, &block.equal})
        numbers->shrink_to_fit();
}

void TaskTable::input_ended() {
    close_block();
    std::exchange(seen_, {});
}

TaskId TaskTable::add_line(std::string_view command, std::uint64_t line, std::uint64_t environment_position,
                           std::string tags) {
    if (!tags.empty()) tags_.emplace(size_, std::move(tags));
    if (environment_.empty() || environment_.rbegin()->second != environment_position)
        environment_.emplace(size_, environment_position);
    return add_text(command, line, nullptr);
}

TaskId TaskTable::add_value(std::string_view value, std::uint64_t line,
                            const engine::tasklist::CommandTemplate& command) {
    return add_text(value, line, &command);
}

TaskId TaskTable::add_indexes(engine::tasklist::IndexSet indexes,
                              const engine::tasklist::CommandTemplate& command) {
    const TaskId first(size_);
    size_ += indexes.count();
    index_blocks_.push_back({first.value(), std::move(indexes), &command});
    return first;
}

const TaskTable::Block& TaskTable::block_of(TaskId task) const {
    const auto after =
        std::upper_bound(blocks_.begin(), blocks_.end(), task.value(),
                         [](std::uint64_t id, const Block& block) { return id < block.first; });
    return *std::prev(after);
}

const TaskTable::IndexBlock* TaskTable::index_block_of(TaskId task) const {
    const auto after =
        std::upper_bound(index_blocks_.begin(), index_blocks_.end(), task.value(),
                         [](std::uint64_t id, const IndexBlock& block) { return id < block.first; });
    if (after == index_blocks_.begin()) return nullptr;
    const IndexBlock& block = *std::prev(after);
    return task.value() - block.first < block.indexes.count() ? &block : nullptr;
}

std::string_view TaskTable::stored(TaskId task, const Block& block) const {
    const std::size_t place = task.value() - block.first;
    const std::uint32_t begin = place == 0 ? 0 : block.ends[place - 1];
    return std::string_view(block.text).substr(begin, block.ends[place] - begin);
}

TaskText TaskTable::text(TaskId task) const {
    TaskText text;
    if (const IndexBlock* indexes = index_block_of(task)) {
        const std::string index = std::to_string(indexes->indexes.at(task.value() - indexes->first));
        text.command = indexes->command->render(index);
        text.variables.emplace_back(engine::tasklist::index_variable_name, index);
        add_batch_environment(text, task);
        return text;
    }
    const Block& block = block_of(task);
    const std::string_view line = stored(task, block);
    text.command = block.each != nullptr ? block.each->render(line) : std::string(line);
    text.line = block.first_line + block.lines[task.value() - block.first];
    if (const auto after = environment_.upper_bound(task.value()); after != environment_.begin())
        text.environment_position = std::prev(after)->second;
    if (block.each != nullptr)
        text.variables.emplace_back(engine::tasklist::index_variable_name, std::to_string(text.line));
    add_batch_environment(text, task);
    text.files = files_of(settings(task));
    return text;
}

bool TaskTable::keeps_batch_environment(TaskId task) const {
    return settings(task).batch_environment == batch_environment_kept;
}

void TaskTable::add_batch_environment(TaskText& text, TaskId task) const {
    if (keeps_batch_environment(task))
        text.variables.emplace_back(batch_environment_variable, batch_environment_kept);
}

// Each worker gets equal contents once.
std::shared_ptr<const files::trees::TaskFiles> TaskTable::files_of(
    const engine::tasklist::Settings& settings) const {
    if (settings.inputs.empty() && settings.outputs.empty()) return nullptr;
    auto files = std::make_shared<files::trees::TaskFiles>();
    for (const std::string& path : settings.inputs)
        files->inputs.push_back({files::trees::InputSource::file, folder_ + "/" + path, {}, path, true});
    for (const std::string& path : settings.outputs) files->outputs.push_back({path, folder_ + "/" + path});
    return files;
}

const std::string& TaskTable::tags(TaskId task) const {
    static const std::string none;
    const auto found = tags_.find(task.value());
    return found == tags_.end() ? none : found->second;
}

const engine::tasklist::Settings& TaskTable::settings(TaskId task) const {
    static const engine::tasklist::Settings none;
    const auto after = settings_.upper_bound(task.value());
    return after == settings_.begin() ? none : std::prev(after)->second;
}

std::uint64_t TaskTable::line(TaskId task) const {
    if (index_block_of(task) != nullptr) return 0;
    const Block& block = block_of(task);
    return block.first_line + block.lines[task.value() - block.first];
}

std::string TaskTable::command(TaskId task) const {
    return text(task).command;
}

records::journal::TaskKey TaskTable::key(TaskId task) const {
    if (const IndexBlock* indexes = index_block_of(task))
        return {indexes->indexes.at(task.value() - indexes->first)};
    const Block& block = block_of(task);
    return {engine::tasklist::content_key(stored(task, block),
                                          block.equal.empty() ? 0 : block.equal[task.value() - block.first])};
}

void TaskTable::describe(const IntervalSet& tasks, net::messages::SealedBatch& sealed) const {
    const IndexBlock* block = tasks.empty() ? nullptr : index_block_of(TaskId(tasks.front()->first));
    if (block == nullptr || keeps_batch_environment(TaskId(block->first)))
        return;  // a template has no variables
    bool all = true;
    tasks.for_each([&](Interval part) { all = all && index_block_of(TaskId(part.end - 1)) == block; });
    if (!all) return;
    sealed.command = block->command->words();
    sealed.indexes = block->indexes.text();
    sealed.first_item = TaskId(block->first);
}

}  // namespace wq::manager
