// What the `#WQ-CATEGORY` lines of a list say, for the manager; and what that leaves for a task's own line.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "app/manager.h"
#include "core/sizes.h"
#include "taskfile/list.h"

namespace wq::app {

class ListCategories {
  public:
    // `source`: the list's name, for messages; `measured`: whether tasks are.
    ListCategories(std::string source, bool measured) : source_(std::move(source)), measured_(measured) {}

    // A line of the list; for the category's tasks above it, too. `defaults`: what the run gives where nobody
    // says anything; -1: nothing.
    void tell(const taskfile::CategorySettings& line, const core::Needs& defaults, Manager& manager,
              core::Now now);
    // A task is of it; nothing: of the category "default". Of which resources it does not say anything where
    // its own settings do not, since the category does.
    core::PerResource<bool> of_task(const std::optional<std::string>& category);
    // The list is over: lines for nobody are told.
    void end(Manager& manager) const;

  private:
    struct Told {
        std::uint64_t line = 0;  // of the first that names it
        taskfile::CategoryResources max;
        taskfile::CategoryMode mode = taskfile::CategoryMode::fixed;
        core::PerResource<bool> open;  // tasks may be there that say nothing of these
        bool has_tasks = false;
    };

    std::string place(std::uint64_t line) const { return source_ + ":" + std::to_string(line) + ": "; }

    std::string source_;
    bool measured_;
    bool warned_ = false;
    std::map<std::string, Told> told_;
};

}  // namespace wq::app
