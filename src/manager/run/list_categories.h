// Passes the `#WQ-CATEGORY` lines of a list to the manager, and reports what they leave open for a task.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "engine/model/sizes.h"
#include "manager/manager.h"
#include "engine/tasklist/list.h"

namespace wq::run {

class ListCategories {
  public:
    // The resources that the lines of each category specify, anywhere in the list.
    using Foreseen = std::map<std::string, core::PerResource<bool>>;
    static void foresee(Foreseen& all, const taskfile::CategoryLine& line);

    // `source`: the list's name, for messages; `foreseen`: empty for lists that cannot be read in advance;
    // `measured`: whether tasks are measured.
    ListCategories(std::string source, Foreseen foreseen, bool measured)
        : source_(std::move(source)), foreseen_(std::move(foreseen)), measured_(measured) {}

    // Handles a line of the list; it also applies to the category's tasks above it. `defaults`: the run's,
    // used if nothing is specified; -1: none.
    void tell(const taskfile::CategorySettings& line, const core::Needs& defaults, manager::Manager& manager,
              core::Now now);
    // Registers a task of the category; nothing: "default". Returns the resources that the task leaves to its
    // category if its own settings do not specify them.
    core::PerResource<bool> of_task(const std::optional<std::string>& category, const core::Needs& defaults,
                                    manager::Manager& manager, core::Now now);
    // The list is over: reports lines of categories without tasks.
    void end(manager::Manager& manager) const;

  private:
    struct Told {
        std::uint64_t line = 0;  // of the first line that names it; 0: none yet
        taskfile::CategoryResources max;
        taskfile::CategoryResources min;
        std::uint64_t first = 0;  // last line that sets the first allocation; 0: none
        core::AllocationMode mode = core::AllocationMode::fixed;
        core::PerResource<bool> open;  // some tasks may leave these open
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
