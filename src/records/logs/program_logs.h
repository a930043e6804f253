// The logs of a program's manager: debug, statistics, transactions. A separate thread writes them, so that a
// slow disk delays no keepalive. A log that cannot be written ends, and says so once.
#pragma once

#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/result.h"
#include "records/hdf5/h5_writer.h"
#include "records/journal/append_file.h"
#include "records/journal/debug_log.h"
#include "records/journal/records.h"
#include "records/journal/transactions.h"

namespace wq::records::logs {

struct LogPaths {
    std::string debug;
    std::string debug_flags{"all"};
    std::uint64_t debug_rotate_bytes = 10u << 20;
    std::string statistics;  // HDF5 if the name ends in .h5
    std::string transactions;
    std::string program{"work_queue"};

    bool any() const { return !debug.empty() || !statistics.empty() || !transactions.empty(); }
};

class ProgramLogs {
  public:
    // Errors: usage, if a file is of another kind; not_allowed or interrupted, if it cannot be created. `say`
    // gets lines about files that are renamed, and later, on the logs' thread, about logs that end.
    static Result<std::unique_ptr<ProgramLogs>> open(const LogPaths& paths, WallMicros started,
                                                     std::function<void(const std::string&)> say);
    ~ProgramLogs();  // writes what is queued

    bool wants_transactions() const { return has_transactions_; }
    bool wants_debug(std::string_view subsystem) const { return debug_ && debug_->wants(subsystem); }

    void task(const journal::TaskRecord& record);
    // An attempt of a range's call that is logged separately; also logs where it ran.
    void call(const journal::TaskRecord& record);
    void range(const journal::RangeRecord& record);
    void cancelled(const IntervalSet& tasks, WallMicros when);
    void worker(const journal::WorkerRecord& record);
    void sample(const journal::Sample& sample);
    void category(const journal::CategoryRecord& record);
    void transaction(WallMicros when, std::string text);
    void debug(std::string_view subsystem, const std::string& text);

  private:
    struct Call {
        journal::TaskRecord attempt;
    };
    struct Cancelled {
        IntervalSet tasks;
        WallMicros when;
    };
    struct Line {
        WallMicros when;
        std::string text;
    };
    struct DebugLine {
        WallMicros when;
        std::string subsystem;
        std::string text;
    };
    using Entry = std::variant<journal::TaskRecord, journal::RangeRecord, journal::WorkerRecord,
                               journal::Sample, journal::CategoryRecord, Call, Cancelled, Line, DebugLine>;

    ProgramLogs() = default;
    Status begin(const LogPaths& paths, WallMicros started);
    void queue_entry(Entry entry);
    void debug_attempt(const journal::TaskRecord& record);
    bool wants_records() const { return has_transactions_ || h5_; }
    void run();
    void or_note(const std::function<void()>& write);
    void write_all(std::vector<Entry>& entries);
    void write(const journal::TaskRecord& record);
    void write(const journal::RangeRecord& record);
    void write(const journal::WorkerRecord& record);
    void write(const journal::Sample& sample);
    void write(const journal::CategoryRecord& record);
    void write(const Call& call);
    void put_category(WallMicros when, const journal::CategoryRecord& record);
    void write(const Cancelled& cancelled);
    void write(const Line& line);
    void write(const DebugLine& line);
    enum class Log { debug, transactions, statistics, h5, all };
    void record_trouble(Log log, const Status& status);
    void finish();

    std::function<void(const std::string&)> say_;
    std::unique_ptr<journal::DebugLog> debug_;
    journal::TextLog transactions_;
    journal::TextLog statistics_;
    std::optional<hdf5::H5Writer> h5_;
    // Logs open from the start; for the manager's thread.
    bool has_transactions_ = false;
    bool has_statistics_ = false;
    std::array<bool, 5> said_trouble_{};  // by Log
    journal::TransactionStamp stamp_{::getpid()};
    Instant next_flush_;
    std::unordered_map<std::uint32_t, std::string> addresses_;                  // of workers
    std::unordered_map<std::string, std::vector<std::string>> category_lines_;  // last ones in transactions_
    std::uint64_t worker_rows_ = 0;
    std::unordered_map<std::uint32_t, std::uint64_t> worker_row_;

    std::mutex mutex_;
    std::condition_variable something_;
    std::vector<Entry> waiting_;
    bool over_ = false;
    bool lost_some_ = false;
    std::thread thread_;
};

}  // namespace wq::records::logs
