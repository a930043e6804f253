// Converts records to rows of stats.h5.
#pragma once

#include "records/hdf5/schema.h"
#include "records/journal/records.h"

namespace wq::records::hdf5 {

TaskRow row_of(const journal::TaskRecord& record);
TaskRow row_of(const journal::RangeRecord& record);
WorkerRow row_of(const journal::WorkerRecord& record);
ManagerRow row_of(const journal::Sample& sample);
CategoryRow row_of(const journal::CategoryRecord& record);
CategoryRow row_of(CategoryId category, std::string_view name,
                   WallMicros now);  // if nothing else is known about it

}  // namespace wq::records::hdf5
