// The content of tasks by id: the text of list lines, or the template and index of ranges. Text is stored in
// blocks with one 32-bit offset per line; ranges cost nothing per task.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/interval_set.h"
#include "base/memory_file.h"
#include "engine/tasklist/list.h"
#include "engine/tasklist/sources.h"
#include "files/trees/task_files.h"
#include "net/messages/messages.h"
#include "records/journal/records.h"

namespace wq::manager {

// The manager needs this to dispatch and record a task, whether it comes from a list (TaskTable) or from a
// program.
struct TaskText {
    std::string command;
    std::uint64_t line = 0;  // in the list; 0: not from a list
    std::uint64_t environment_position = 0;
    EnvironmentChanges variables;
    std::optional<net::messages::Call> call;   // instead of the command
    std::shared_ptr<const MemoryFile> memory;  // the rest of the call's arguments; null: they are whole
    std::shared_ptr<const files::trees::TaskFiles> files;  // null: no files, so no sandbox
};

class TaskTexts {
  public:
    virtual ~TaskTexts() = default;

    virtual TaskText text(TaskId task) const = 0;
    virtual std::uint64_t line(TaskId task) const = 0;
    // For messages and records.
    virtual std::string command(TaskId task) const = 0;
    virtual records::journal::TaskKey key(TaskId task) const = 0;

    // If all of `tasks` are made from one template (items of one `--array`, calls of one range), adds it to
    // the announcement of the batch.
    virtual void describe(const IntervalSet& tasks, net::messages::SealedBatch& sealed) const = 0;

    // No more tasks will be added.
    virtual void input_ended() = 0;
};

class TaskTable : public TaskTexts {
  public:
    std::uint64_t size() const { return size_; }

    // `tags`: as in the line, for failed.sh.
    TaskId add_line(std::string_view command, std::uint64_t line, std::uint64_t environment_position,
                    std::string tags = {});
    // `--each`: the task's command is the template with this value.
    TaskId add_value(std::string_view value, std::uint64_t line,
                     const engine::tasklist::CommandTemplate& command);
    // `--array`: adds count() tasks at once; the template must outlive the table.
    TaskId add_indexes(engine::tasklist::IndexSet indexes, const engine::tasklist::CommandTemplate& command);

    // Tasks run in this folder; files of `#WQ` lines are relative to it.
    explicit TaskTable(std::string folder = {}) : folder_(std::move(folder)) {}

    // Settings of `#WQ` lines and of the command line for tasks added from now on; also for failed.sh.
    void add_settings(engine::tasklist::Settings settings) {
        settings_.insert_or_assign(size_, std::move(settings));
    }
    // A `#WQ-CATEGORY` line, for failed.sh.
    void add_category_line(std::string name, std::string line) {
        category_lines_.emplace_back(std::move(name), std::move(line));
    }
    // A `#!` line with its tags, at the next position.
    void add_environment_line(std::string line) { environment_lines_.push_back(std::move(line)); }

    TaskText text(TaskId task) const override;
    std::uint64_t line(TaskId task) const override;
    const std::string& tags(TaskId task) const;  // empty: none
    const engine::tasklist::Settings& settings(TaskId task) const;
    const std::vector<std::string>& environment_lines() const { return environment_lines_; }
    // Names and lines, in order.
    const std::vector<std::pair<std::string, std::string>>& category_lines() const { return category_lines_; }
    std::string command(TaskId task) const override;
    records::journal::TaskKey key(TaskId task) const override;

    void describe(const IntervalSet& tasks, net::messages::SealedBatch& sealed) const override;

    // Frees what only identified equal lines.
    void input_ended() override;

  private:
    struct Block {
        std::uint64_t first = 0;  // id of its first line
        std::string text;
        std::vector<std::uint32_t> ends;   // end of each line in `text`
        std::vector<std::uint32_t> lines;  // line number less first_line of each
        std::vector<std::uint32_t> equal;  // number of equal lines above each; empty: none above any
        std::uint64_t first_line = 0;
        const engine::tasklist::CommandTemplate* each = nullptr;
    };
    struct IndexBlock {
        std::uint64_t first = 0;
        engine::tasklist::IndexSet indexes;
        const engine::tasklist::CommandTemplate* command = nullptr;
    };

    void close_block();
    TaskId add_text(std::string_view text, std::uint64_t line, const engine::tasklist::CommandTemplate* each);
    std::string_view stored(TaskId task, const Block& block) const;
    const Block& block_of(TaskId task) const;
    const IndexBlock* index_block_of(TaskId task) const;

    bool keeps_batch_environment(TaskId task) const;
    void add_batch_environment(TaskText& text, TaskId task) const;
    std::shared_ptr<const files::trees::TaskFiles> files_of(const engine::tasklist::Settings& settings) const;

    std::string folder_;
    std::uint64_t size_ = 0;
    std::vector<Block> blocks_;
    std::vector<IndexBlock> index_blocks_;
    std::map<std::uint64_t, std::uint64_t> environment_;  // first id -> position from that id on
    std::vector<std::string> environment_lines_;
    std::vector<std::pair<std::string, std::string>> category_lines_;
    std::map<std::uint64_t, engine::tasklist::Settings> settings_;  // first id -> settings from that id on
    std::unordered_map<std::uint64_t, std::string> tags_;           // of lines with tags
    std::unordered_map<std::uint64_t, std::uint32_t> seen_;         // content hash -> number of lines with it
};

}  // namespace wq::manager
