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
#include "records/journal/debug_log.h"
#include "records/journal/records.h"
#include "records/journal/text_log.h"
#include "records/journal/transactions.h"
#include "records/hdf5/h5_writer.h"

namespace wq::logs {

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

    void task(const records::TaskRecord& record);
    // An attempt of a range's call that is logged separately; also logs where it ran.
    void call(const records::TaskRecord& record);
    void range(const records::RangeRecord& record);
    void cancelled(const IntervalSet& tasks, WallMicros when);
    void worker(const records::WorkerRecord& record);
    void sample(const records::Sample& sample);
    void category(const records::CategoryRecord& record);
    void transaction(WallMicros when, std::string text);
    void debug(std::string_view subsystem, const std::string& text);

  private:
    struct Call {
        records::TaskRecord attempt;
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
    using Entry = std::variant<records::TaskRecord, records::RangeRecord, records::WorkerRecord,
                               records::Sample, records::CategoryRecord, Call, Cancelled, Line, DebugLine>;

    ProgramLogs() = default;
    Status begin(const LogPaths& paths, WallMicros started);
    void put(Entry entry);
    void debug_attempt(const records::TaskRecord& record);
    bool wants_records() const { return has_transactions_ || h5_; }
    void run();
    void or_note(const std::function<void()>& write);
    void write_all(std::vector<Entry>& entries);
    void write(const records::TaskRecord& record);
    void write(const records::RangeRecord& record);
    void write(const records::WorkerRecord& record);
    void write(const records::Sample& sample);
    void write(const records::CategoryRecord& record);
    void write(const Call& call);
    void put_category(WallMicros when, const records::CategoryRecord& record);
    void write(const Cancelled& cancelled);
    void write(const Line& line);
    void write(const DebugLine& line);
    enum class Log { debug, transactions, statistics, h5, all };
    void note(Log log, const Status& status);
    void finish();

    std::function<void(const std::string&)> say_;
    std::unique_ptr<records::DebugLog> debug_;
    records::TextLog transactions_;
    records::TextLog statistics_;
    std::optional<stats::H5Writer> h5_;
    // Logs open from the start; for the manager's thread.
    bool has_transactions_ = false;
    bool has_statistics_ = false;
    std::array<bool, 5> said_trouble_{};  // by Log
    records::TransactionStamp stamp_{::getpid()};
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

}  // namespace wq::logs
