// Passes the `#WQ-CATEGORY` lines of a list to the manager, and says what they leave open for a task.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/sizes.h"
#include "manager/manager.h"
#include "taskfile/list.h"

namespace wq::run {

class ListCategories {
  public:
    // Of a category: of which resources its lines say something, wherever they stand.
    using Foreseen = std::map<std::string, core::PerResource<bool>>;
    static void foresee(Foreseen& all, const taskfile::CategoryLine& line);

    // `source`: the list's name, for messages; `foreseen`: empty where the list is not known before it is
    // read; `measured`: whether tasks are.
    ListCategories(std::string source, Foreseen foreseen, bool measured)
        : source_(std::move(source)), foreseen_(std::move(foreseen)), measured_(measured) {}

    // A line of the list; for the category's tasks above it, too. `defaults`: what the run gives where nobody
    // says anything; -1: nothing.
    void tell(const taskfile::CategorySettings& line, const core::Needs& defaults, manager::Manager& manager,
              core::Now now);
    // A task is of it; nothing: of the category "default". Of which resources it does not say anything where
    // its own settings do not, since the category does.
    core::PerResource<bool> of_task(const std::optional<std::string>& category, const core::Needs& defaults,
                                    manager::Manager& manager, core::Now now);
    // The list is over: lines for nobody are told.
    void end(manager::Manager& manager) const;

  private:
    struct Told {
        std::uint64_t line = 0;  // of the first that names it; 0: none yet
        taskfile::CategoryResources max;
        taskfile::CategoryResources min;
        std::uint64_t first = 0;  // the last line that says what the first tasks get; 0: none does
        taskfile::CategoryMode mode = taskfile::CategoryMode::fixed;
        core::PerResource<bool> open;  // tasks may be there that say nothing of these
        bool has_tasks = false;
    };

    static core::Sizes max_of(const Told& told, const core::Needs& defaults);
    std::string place(std::uint64_t line) const { return source_ + ":" + std::to_string(line) + ": "; }

    std::string source_;
    Foreseen foreseen_;
    bool measured_;
    bool warned_ = false;
    std::map<std::string, Told> told_;
};

}  // namespace wq::run
