// Turns the items of a list into tasks of the core. Adjacent tasks of one shape become one range.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "manager/manager.h"
#include "manager/task_table.h"
#include "manager/run/list_categories.h"
#include "manager/run/source.h"
#include "engine/tasklist/list.h"

namespace wq::run {

class Feeder {
  public:
    Feeder(const SourceOptions& options, manager::TaskTable& tasks, std::string source = {})
        : options_(options),
          tasks_(tasks),
          categories_(std::move(source), options.categories, options.measured) {}

    void feed(const std::vector<taskfile::Item>& items, manager::Manager& manager, core::Now now);
    void value(std::string_view value, std::uint64_t line, const taskfile::CommandTemplate& command,
               manager::Manager& manager, core::Now now);
    void indexes(const taskfile::IndexSet& indexes, const taskfile::CommandTemplate& command,
                 manager::Manager& manager, core::Now now);
    // The list is over.
    void end(manager::Manager& manager, core::Now now);
    // Passes the gathered tasks to the manager.
    void flush(manager::Manager& manager, core::Now now);

  private:
    void item(const taskfile::TaskLine& line, manager::Manager& manager, core::Now now);
    void item(const taskfile::EnvironmentLine& line, manager::Manager& manager, core::Now now);
    void item(const taskfile::SettingsLine& line, manager::Manager& manager, core::Now now);
    void item(const taskfile::CategorySettings& line, manager::Manager& manager, core::Now now);
    void item(const taskfile::Barrier& line, manager::Manager& manager, core::Now now);
    void append(TaskId task, core::Shape shape, std::vector<core::GroupTag> groups, manager::Manager& manager,
                core::Now now);
    core::Shape shape(manager::Manager& manager, core::Now now);
    std::uint32_t group(const std::string& name);

    const SourceOptions& options_;
    manager::TaskTable& tasks_;
    taskfile::Settings settings_;  // from `#WQ` lines
    taskfile::Settings told_;      // last passed to the task table
    ListCategories categories_;
    std::map<std::string, std::uint32_t> groups_{{"", 0}};
    core::TaskRange range_{{}, 0, {}, {}};
    IntervalSet done_;
    IntervalSet failed_;
};

}  // namespace wq::run
