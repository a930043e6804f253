// Records as rows of stats.h5.
#pragma once

#include "stats/records.h"
#include "stats/schema.h"

namespace wq::stats {

TaskRow row_of(const TaskRecord& record);
TaskRow row_of(const RangeRecord& record);
WorkerRow row_of(const WorkerRecord& record);
ManagerRow row_of(const Sample& sample);
CategoryRow row_of(const CategoryRecord& record);
CategoryRow row_of(CategoryId category, std::string_view name, WallMicros now);  // of which no more is known

}  // namespace wq::stats
