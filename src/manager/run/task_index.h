// Maps keys to the tasks of a source, to number the records of an earlier run. It is read before the source,
// and exists only while a resumed run starts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "manager/run/source.h"
#include "manager/task_table.h"
#include "records/recorder/recorder.h"

namespace wq::manager::run {

class TaskIndex final : public records::recorder::ListedTasks {
  public:
    // nullptr: a stream. Errors: those of check_source().
    static Result<std::unique_ptr<TaskIndex>> read(const SourceSpec& spec);

    std::optional<TaskId> find(records::journal::TaskKey key) const override;
    std::uint64_t line(TaskId task) const override { return tasks_.text(task).line; }
    std::string command(TaskId task) const override { return tasks_.command(task); }

  private:
    explicit TaskIndex(const SourceSpec& spec) : command_(spec.command) {}

    // For --array: the part's first task, and the largest index of this and earlier parts, by first index.
    struct Part {
        engine::tasklist::IndexRange indexes;
        std::uint64_t first_task = 0;
        std::uint64_t largest = 0;
    };
    void index_lines();
    void index_parts(const engine::tasklist::IndexSet& indexes);

    engine::tasklist::CommandTemplate command_;
    manager::TaskTable tasks_;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> lines_;  // key, task; by key
    std::vector<Part> parts_;
};

}  // namespace wq::manager::run
