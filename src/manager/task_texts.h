// What the manager needs to dispatch and record a task, whether it comes from a list (task_table.h) or from a
// program.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/interval_set.h"
#include "base/memory_file.h"
#include "files/trees/task_files.h"
#include "net/messages/messages.h"
#include "records/journal/records.h"

namespace wq::manager {

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

}  // namespace wq::manager
