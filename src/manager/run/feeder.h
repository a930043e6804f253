// Turns the items of a list into tasks of the core. Adjacent tasks of one shape become one range.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/tasklist/list.h"
#include "manager/manager.h"
#include "manager/run/list_categories.h"
#include "manager/run/source.h"
#include "manager/task_table.h"

namespace wq::manager::run {

class Feeder {
  public:
    Feeder(const SourceOptions& options, manager::TaskTable& tasks, std::string source = {})
        : options_(options),
          tasks_(tasks),
          categories_(std::move(source), options.categories, options.measured) {}

    void feed(const std::vector<engine::tasklist::Item>& items, manager::Manager& manager,
              engine::model::Now now);
    void value(std::string_view value, std::uint64_t line, const engine::tasklist::CommandTemplate& command,
               manager::Manager& manager, engine::model::Now now);
    void indexes(const engine::tasklist::IndexSet& indexes, const engine::tasklist::CommandTemplate& command,
                 manager::Manager& manager, engine::model::Now now);
    // The list is over.
    void end(manager::Manager& manager, engine::model::Now now);
    // Passes the gathered tasks to the manager.
    void flush(manager::Manager& manager, engine::model::Now now);

  private:
    void item(const engine::tasklist::TaskLine& line, manager::Manager& manager, engine::model::Now now);
    void item(const engine::tasklist::EnvironmentLine& line, manager::Manager& manager,
              engine::model::Now now);
    void item(const engine::tasklist::SettingsLine& line, manager::Manager& manager, engine::model::Now now);
    void item(const engine::tasklist::CategorySettings& line, manager::Manager& manager,
              engine::model::Now now);
    void item(const engine::tasklist::Barrier& line, manager::Manager& manager, engine::model::Now now);
    void append(TaskId task, engine::model::Shape shape, std::vector<engine::model::GroupTag> groups,
                manager::Manager& manager, engine::model::Now now);
    engine::model::Shape shape(manager::Manager& manager, engine::model::Now now);
    std::uint32_t group(const std::string& name);

    const SourceOptions& options_;
    manager::TaskTable& tasks_;
    engine::tasklist::Settings settings_;  // from `#WQ` lines
    engine::tasklist::Settings told_;      // last passed to the task table
    ListCategories categories_;
    std::map<std::string, std::uint32_t> groups_{{"", 0}};
    engine::model::TaskRange range_{{}, 0, {}, {}};
    IntervalSet done_;
    IntervalSet failed_;
};

}  // namespace wq::manager::run
