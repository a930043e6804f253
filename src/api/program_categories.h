// Category settings of a program, and warnings about them. Used on the manager's thread only.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/model/events.h"
#include "manager/manager.h"

namespace wq::api {

class ProgramCategories {
  public:
    // `say` must outlive it.
    explicit ProgramCategories(const std::function<void(const std::string&)>& say) : say_(say) {}

    // Returns the category of a submitted task; `measured`: the task itself requests measurement.
    CategoryId of_task(const std::string& name, bool measured, manager::Manager& manager,
                       engine::model::Now now);
    // Whether the category has settings for the resources of its tasks.
    bool speaks(CategoryId category, const manager::Manager& manager) const;

    void set(const std::string& name, engine::model::CategorySet what, manager::Manager& manager,
             engine::model::Now now);
    // For categories that are not known yet.
    void set_mode_of_others(engine::model::AllocationMode mode) { of_others_.mode = mode; }
    // For all categories, known or not.
    void set_steady_tasks(std::uint32_t tasks, manager::Manager& manager, engine::model::Now now);
    void set_max(const engine::model::Sizes& most, manager::Manager& manager,
                 engine::model::Now now);  // of known categories
    // Whether all tasks are measured.
    void monitor(bool measures) { measures_ = measures; }

  private:
    struct Known {
        CategoryId id;
        bool automatic = false;  // its tasks' allocation is computed
        bool has_tasks = false;  // tasks that are measured only if all are
        bool warned = false;
        bool told_of_none = false;
    };
    Known& known(const std::string& name, manager::Manager& manager, engine::model::Now now);
    void warn(const std::string& name, Known& category);
    void warn_of_none(const std::string& name, Known& category);

    const std::function<void(const std::string&)>& say_;
    std::map<std::string, Known> known_;
    engine::model::CategorySet of_others_{};
    bool measures_ = false;
};

}  // namespace wq::api
