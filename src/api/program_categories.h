// What a program says of its categories, and what it is told of them. All on the manager's thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/events.h"
#include "manager/manager.h"
#include "work_queue/category.h"

namespace wq::api {

class ProgramCategories {
  public:
    // `say` outlives it.
    explicit ProgramCategories(const std::function<void(const std::string&)>& say) : say_(say) {}

    // Of a task that is submitted; `measured`: it asks for that itself.
    CategoryId of_task(const std::string& name, bool measured, manager::Manager& manager, core::Now now);
    // Whether it says anything of what its tasks get.
    bool speaks(CategoryId category, const manager::Manager& manager) const;

    void set(const std::string& name, core::CategorySet what, manager::Manager& manager, core::Now now);
    // Of categories that are not known yet.
    void set_mode_of_others(core::AllocationMode mode) { of_others_.mode = mode; }
    // Of all, those that come too.
    void set_steady_tasks(std::uint32_t tasks, manager::Manager& manager, core::Now now);
    void set_max(const core::Sizes& most, manager::Manager& manager,
                 core::Now now);  // of those that are known
    // Whether tasks are measured.
    void monitor(bool measures) { measures_ = measures; }

    std::vector<CategorySummary> summaries(const manager::Manager& manager) const;

  private:
    struct Known {
        CategoryId id;
        bool automatic = false;  // what its tasks are given is found
        bool has_tasks = false;  // that are not measured, unless all are
        bool warned = false;
        bool told_of_none = false;
    };
    Known& known(const std::string& name, manager::Manager& manager, core::Now now);
    void warn(const std::string& name, Known& category);
    void warn_of_none(const std::string& name, Known& category);

    const std::function<void(const std::string&)>& say_;
    std::map<std::string, Known> known_;
    core::CategorySet of_others_{};
    bool measures_ = false;
};

}  // namespace wq::api
