// Passes the `#WQ-CATEGORY` lines of a list to the manager, and reports what they leave open for a task.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "engine/model/resources.h"
#include "engine/tasklist/list.h"
#include "manager/manager.h"

namespace wq::manager::run {

class ListCategories {
  public:
    // The resources that the lines of each category specify, anywhere in the list.
    using Foreseen = std::map<std::string, engine::model::PerResource<bool>>;
    static void foresee(Foreseen& all, const engine::tasklist::CategoryLine& line);

    // `source`: the list's name, for messages; `foreseen`: empty for lists that cannot be read in advance;
    // `measured`: whether tasks are measured.
    ListCategories(std::string source, Foreseen foreseen, bool measured)
        : source_(std::move(source)), foreseen_(std::move(foreseen)), measured_(measured) {}

    // Handles a line of the list; it also applies to the category's tasks above it. `defaults`: the run's,
    // used if nothing is specified; -1: none.
    void apply_line(const engine::tasklist::CategorySettings& line, const engine::model::Needs& defaults,
                    manager::Manager& manager, engine::model::Now now);
    // Registers a task of the category; nothing: "default". Returns the resources that the task leaves to its
    // category if its own settings do not specify them.
    engine::model::PerResource<bool> of_task(const std::optional<std::string>& category,
                                             const engine::model::Needs& defaults, manager::Manager& manager,
                                             engine::model::Now now);
    // The list is over: reports lines of categories without tasks.
    void end(manager::Manager& manager) const;

  private:
    struct Told {
        std::uint64_t line = 0;  // of the first line that names it; 0: none yet
        engine::tasklist::CategoryResources max;
        engine::tasklist::CategoryResources min;
        std::uint64_t first = 0;  // last line that sets the first allocation; 0: none
        engine::model::AllocationMode mode = engine::model::AllocationMode::fixed;
        engine::model::PerResource<bool> open;  // some tasks may leave these open
        bool has_tasks = false;
    };

    static engine::model::Sizes max_of(const Told& told, const engine::model::Needs& defaults);
    std::string place(std::uint64_t line) const { return source_ + ":" + std::to_string(line) + ": "; }

    std::string source_;
    Foreseen foreseen_;
    bool measured_;
    bool warned_ = false;
    std::map<std::string, Told> told_;
};

}  // namespace wq::manager::run
