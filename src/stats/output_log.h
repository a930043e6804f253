// output.log: what tasks wrote, in the order of their ends, each stream under a line of its own that says
// whose it is; and output.idx: one fixed-size entry for each, so that the output of one task is found without
// reading all.
//
// Data is written before its entry. After a crash either may be ahead of the other: an entry counts only
// where the line above its data and the data itself are its own, data without an entry is passed over, and
// appending goes on behind both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "core/outcome.h"
#include "stats/append_file.h"
#include "stats/records.h"

namespace wq::stats {

enum class Stream : std::uint8_t { out = 1, err = 2 };

// 48 bytes, little endian: task, key u64 | offset, length u64 | attempt u32 | stream u8, 3 bytes 0 |
// CRC-32C u32 of the data | CRC-32C u32 of the entry.
struct OutputEntry {
    TaskId task;
    TaskKey key;
    Attempt attempt = 1;
    Stream stream = Stream::out;
    std::uint64_t offset = 0;  // of the first byte that the task wrote
    std::uint64_t length = 0;
    std::uint32_t checksum = 0;  // of the data
};

// One batch of outputs, put together in memory; streams without a byte take none.
class OutputBatch {
  public:
    // `end`: the size of output.log where the batch will stand.
    explicit OutputBatch(std::uint64_t end) : begin_(end) {}
    void add(const TaskRecord& record, const core::Output& output);
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
    // Each all or nothing; the index after its data.
    Status append_data(std::string_view bytes) { return data_.append(bytes); }
    Status append_index(std::string_view bytes) { return index_.append(bytes); }
    Status sync();

  private:
    OutputLog(AppendFile data, AppendFile index) : data_(std::move(data)), index_(std::move(index)) {}
    AppendFile data_;
    AppendFile index_;
};

// What the last attempt of the task wrote, of those that have any output kept; also of a live run. With `key`
// it is the task with that key, whatever its number was when it ran; without, the last one that ran under the
// number. Error bad_input: no output log.
struct TaskOutput {
    Attempt attempt = 0;  // 0: nothing is kept of this task
    std::string out;
    std::string err;
};
Result<TaskOutput> read_task_output(const std::string& run_directory, TaskId task,
                                    std::optional<TaskKey> key = {});

}  // namespace wq::stats
