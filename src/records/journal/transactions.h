// transactions.log, in Work Queue's format: `<microseconds> <pid> <text>`. Task numbers start at 1. The texts
// that only the manager knows are also made here, so that it need not know the format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "engine/model/resources.h"
#include "engine/model/task_category.h"
#include "records/journal/records.h"

namespace wq::records::journal {

// The comment lines at the start of the log.
std::string_view transactions_heading();

// Texts for Recorder::transaction(). At maximum, it asks for its category's maximum, because it exceeded its
// first allocation.
std::string task_waiting_text(Interval tasks, std::string_view category,
                              const engine::model::Resources& requested,
                              engine::model::Try tried = engine::model::Try::first);
std::string task_running_text(TaskId task, std::string_view worker_address,
                              const engine::model::Resources& allocated,
                              engine::model::Try tried = engine::model::Try::first);
struct TransferRecord {
    TaskId task;
    bool input = true;  // to a worker; false: an output, to the manager
    bool cached = false;
    std::uint64_t bytes = 0;
    std::int64_t wall_us = 0;
    std::string_view name;  // in the task's sandbox
};
std::string transfer_text(const TransferRecord& transfer);

// The start of a line: time and pid. The events of one moment have their times from several clock readings:
// one that is less than a second before the last line gets that line's time. What a rank tells later keeps
// its own.
class TransactionStamp {
  public:
    explicit TransactionStamp(std::int64_t pid) : pid_(pid) {}
    void append_to(std::string& out, WallMicros when);

  private:
    std::int64_t pid_;
    WallMicros last_ = 0;
};
enum class ManagerLine : std::uint8_t { start, end };
// All lines of one event.
void put_manager_line(std::string& out, WallMicros when, TransactionStamp& stamp, ManagerLine line);
void put_category_lines(std::string& out, WallMicros when, TransactionStamp& stamp,
                        const CategoryRecord& record);
void put_worker_lines(std::string& out, TransactionStamp& stamp, const WorkerRecord& record);
void put_task_lines(std::string& out, TransactionStamp& stamp, const TaskRecord& record,
                    std::string_view worker_address);
// Calls of a range: `TASK first-last DONE SUCCESS ...`, with the number of calls (`tasks`) among the measured
// values; other tasks in between have separate lines.
void put_range_lines(std::string& out, TransactionStamp& stamp, const RangeRecord& record,
                     std::string_view worker_address);
// `TASK first CANCELED`, or `TASK first-last CANCELED` for consecutive ones.
void put_cancelled_line(std::string& out, WallMicros when, TransactionStamp& stamp, Interval tasks);

}  // namespace wq::records::journal
