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
AskRow row_of(const journal::AskRecord& record);
WorkerChangeRow row_of(const journal::WorkerChangeRecord& record);
WaitingRow row_of(const journal::WaitingRecord& record);
// Nothing is known: what columns that an older file lacks hold.
TaskRow blank_task_row();
CategoryRow blank_category_row();
CategoryRow row_of(CategoryId category, std::string_view name,
                   WallMicros now);  // if nothing else is known about it

}  // namespace wq::records::hdf5
