// Converts records to rows of stats.h5.
#pragma once

#include "records/journal/records.h"
#include "records/hdf5/schema.h"

namespace wq::stats {

TaskRow row_of(const records::TaskRecord& record);
TaskRow row_of(const records::RangeRecord& record);
WorkerRow row_of(const records::WorkerRecord& record);
ManagerRow row_of(const records::Sample& sample);
CategoryRow row_of(const records::CategoryRecord& record);
CategoryRow row_of(CategoryId category, std::string_view name,
                   WallMicros now);  // if nothing else is known about it

}  // namespace wq::stats
