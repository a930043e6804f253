// output.log: the output of tasks, in the order of their ends, each stream below a line that names its task;
// and output.idx: one fixed-size entry per stream, to find the output of a task without reading everything.
//
// Data is written before its entry. After a crash either file may be ahead of the other: an entry is valid
// only if the line above its data and the data match it, data without an entry is skipped, and appending
// continues after both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "engine/model/outcome.h"
#include "records/journal/append_file.h"
#include "records/journal/records.h"

namespace wq::records::journal {

enum class Stream : std::uint8_t { out = 1, err = 2 };

// 48 bytes, little endian: task, key u64 | offset, length u64 | attempt u32 | stream u8, 3 bytes 0 |
// CRC-32C u32 of the data | CRC-32C u32 of the entry.
struct OutputEntry {
    TaskId task;
    TaskKey key;
    Attempt attempt = 1;
    Stream stream = Stream::out;
    std::uint64_t offset = 0;  // of the first byte of the task's output
    std::uint64_t length = 0;
    std::uint32_t checksum = 0;  // of the data
};

// A batch of outputs, assembled in memory; empty streams are omitted.
class OutputBatch {
  public:
    // `end`: the size of output.log where the batch will be appended.
    explicit OutputBatch(std::uint64_t end) : begin_(end) {}
    void add(const TaskRecord& record, const engine::model::Output& output);
    const std::string& data() const { return data_; }
    const std::string& index() const { return index_; }

  private:
    void add(const TaskRecord& record, Stream stream, std::string_view bytes);
    std::uint64_t begin_;
    std::string data_;
    std::string index_;
};

class OutputLog {
  public:
    static Result<OutputLog> open(const std::string& run_directory);
    std::uint64_t end() const { return data_.size(); }
    // Each is all or nothing; append the index after its data.
    Status append_data(std::string_view bytes) { return data_.append(bytes); }
    Status append_index(std::string_view bytes) { return index_.append(bytes); }
    Status sync();

  private:
    OutputLog(AppendFile data, AppendFile index) : data_(std::move(data)), index_(std::move(index)) {}
    AppendFile data_;
    AppendFile index_;
};

// The output of the task's last attempt that has any; also for a running run. With `key`: the task with that
// key, whatever its number was; without: the last task that ran under the number. Error bad_input: no output
// log.
struct TaskOutput {
    Attempt attempt = 0;  // 0: no output of this task is kept
    std::string out;
    std::string err;
};
Result<TaskOutput> read_task_output(const std::string& run_directory, TaskId task,
                                    std::optional<TaskKey> key = {});

}  // namespace wq::records::journal
