// From the items of a list to tasks of the core: neighbours of one shape become one range.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/list_categories.h"
#include "app/manager.h"
#include "app/source.h"
#include "app/task_table.h"
#include "taskfile/list.h"

namespace wq::app {

class Feeder {
  public:
    Feeder(const SourceOptions& options, TaskTable& tasks, std::string source = {})
        : options_(options), tasks_(tasks), categories_(std::move(source), options.measured) {}

    void feed(const std::vector<taskfile::Item>& items, Manager& manager, core::Now now);
    void value(std::string_view value, std::uint64_t line, const taskfile::CommandTemplate& command,
               Manager& manager, core::Now now);
    void indexes(const taskfile::IndexSet& indexes, const taskfile::CommandTemplate& command,
                 Manager& manager, core::Now now);
    // Nothing follows.
    void end(Manager& manager, core::Now now);
    // What is gathered so far goes to the manager.
    void flush(Manager& manager, core::Now now);

  private:
    void item(const taskfile::TaskLine& line, Manager& manager, core::Now now);
    void item(const taskfile::EnvironmentLine& line, Manager& manager, core::Now now);
    void item(const taskfile::SettingsLine& line, Manager& manager, core::Now now);
    void item(const taskfile::CategorySettings& line, Manager& manager, core::Now now);
    void item(const taskfile::Barrier& line, Manager& manager, core::Now now);
    void append(TaskId task, core::Shape shape, std::vector<core::GroupTag> groups, Manager& manager,
                core::Now now);
    core::Shape shape(Manager& manager);
    std::uint32_t group(const std::string& name);

    const SourceOptions& options_;
    TaskTable& tasks_;
    taskfile::Settings settings_;  // what `#WQ` lines say
    taskfile::Settings told_;      // what the task table was told last
    ListCategories categories_;
    std::map<std::string, std::uint32_t> groups_{{"", 0}};
    core::TaskRange range_{{}, 0, {}, {}};
    IntervalSet done_;
    IntervalSet failed_;
};

}  // namespace wq::app
