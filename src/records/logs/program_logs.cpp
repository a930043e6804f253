#include "records/logs/program_logs.h"

#include <unistd.h>

#include "base/signals.h"
#include "base/units.h"
#include "records/hdf5/rows.h"
#include "records/hdf5/stats_log.h"
#include "records/journal/run_status.h"
#include "records/journal/transactions.h"
#include "records/logs/statistics_file.h"

namespace wq::records::logs {

namespace {

// If a disk hangs, records beyond this number are lost, so that they do not fill the memory.
constexpr std::size_t most_waiting_records = 4'000'000;
constexpr Duration flush_interval = std::chrono::seconds(1);  // of HDF5: maximum lag of a live reader

const std::string& address_of(const std::unordered_map<std::uint32_t, std::string>& addresses,
                              WorkerId worker) {
    static const std::string none;
    const auto found = addresses.find(worker.value());
    return found == addresses.end() ? none : found->second;
}

}  // namespace

Result<std::unique_ptr<ProgramLogs>> ProgramLogs::open(const LogPaths& paths, WallMicros started,
                                                       std::function<void(const std::string&)> say) {
    std::unique_ptr<ProgramLogs> logs(new ProgramLogs);
    logs->say_ = std::move(say);
    if (const Status begun = logs->begin(paths, started); !begun) return begun.error();
    logs->thread_ = quiet_thread([raw = logs.get()] { raw->run(); });
    return logs;
}

Status ProgramLogs::begin(const LogPaths& paths, WallMicros started) {
    if (!paths.debug.empty()) {
        auto debug = journal::DebugLog::open(
            {paths.debug, paths.debug_flags, paths.debug_rotate_bytes, paths.program});
        if (!debug) return debug.error();
        debug_ = std::move(*debug);
    }
    if (!paths.transactions.empty()) {
        auto log = journal::TextLog::open(paths.transactions, journal::transactions_heading());
        if (!log) return log.error();
        transactions_ = std::move(*log);
        journal::put_manager_line(transactions_.lines(), started, stamp_, journal::ManagerLine::start);
        put_category(started, {CategoryId(0), "default"});
    }
    if (paths.statistics.ends_with(".h5")) {
        auto h5 = new_statistics_file(paths.statistics,
                                      {{"schema_version", "1"},
                                       {"list", paths.program},
                                       {"host", journal::host_name()},
                                       {"started_us", std::to_string(started)}},
                                      say_);
        if (!h5) return h5.error();
        h5_.emplace(std::move(*h5));
        h5_->append(hdf5::Dataset::categories, hdf5::row_of(CategoryId(0), "default", started));
    } else if (!paths.statistics.empty()) {
        auto log = journal::TextLog::open(paths.statistics, hdf5::stats_log_heading());
        if (!log) return log.error();
        statistics_ = std::move(*log);
    }
    has_transactions_ = transactions_.is_open();
    has_statistics_ = statistics_.is_open();
    for (journal::TextLog* log : {&transactions_, &statistics_})
        if (log->is_open())
            if (const Status written = log->write(); !written) return written.error();
    return success();
}

ProgramLogs::~ProgramLogs() {
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    something_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void ProgramLogs::queue_entry(Entry entry) {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= most_waiting_records) {
        lost_some_ = true;
        return;
    }
    waiting_.push_back(std::move(entry));
    if (waiting_.size() == 1) something_.notify_one();
}

void ProgramLogs::run() {
    std::vector<Entry> entries;
    for (bool over = false, lost = false; !over;) {
        {
            std::unique_lock lock(mutex_);
            if (waiting_.empty() && !over_) {
                if (h5_ && h5_->pending_rows() > 0)
                    something_.wait_for(lock, flush_interval);
                else
                    something_.wait(lock);
            }
            entries.swap(waiting_);
            over = over_;
            lost = lost_some_;
        }
        if (lost)
            record_trouble(Log::all,
                           Error{ExitCode::interrupted, "the logs' disk is too slow: lines are missing"});
        or_note([&] { write_all(entries); });
        entries.clear();
    }
    or_note([&] { finish(); });
}

// Memory may run out.
void ProgramLogs::or_note(const std::function<void()>& write) {
    try {
        write();
    } catch (const std::exception& error) {
        record_trouble(Log::all, Error{ExitCode::interrupted,
                                       std::string("lines of the logs are missing: ") + error.what()});
    }
}

void ProgramLogs::finish() {
    if (transactions_.is_open()) {
        journal::put_manager_line(transactions_.lines(), wall_now(), stamp_, journal::ManagerLine::end);
        record_trouble(Log::transactions, transactions_.write());
        record_trouble(Log::transactions, transactions_.close());
    }
    if (statistics_.is_open()) record_trouble(Log::statistics, statistics_.close());
    if (h5_) record_trouble(Log::h5, h5_->close());
}

void ProgramLogs::write_all(std::vector<Entry>& entries) {
    for (const Entry& entry : entries) std::visit([&](const auto& known) { write(known); }, entry);
    if (transactions_.is_open()) record_trouble(Log::transactions, transactions_.write());
    if (statistics_.is_open()) record_trouble(Log::statistics, statistics_.write());
    if (h5_ && !h5_->failed() && instant_now() >= next_flush_) {
        record_trouble(Log::h5, h5_->flush());
        next_flush_ = instant_now() + flush_interval;
    }
    if (!debug_) return;
    if (const auto trouble = debug_->take_trouble()) record_trouble(Log::debug, *trouble);
}

// Reports once per log, because the trouble usually lasts.
void ProgramLogs::record_trouble(Log log, const Status& status) {
    if (status || std::exchange(said_trouble_[static_cast<std::size_t>(log)], true)) return;
    if (debug_) debug_->write("log", status.error().message);
    if (say_) say_(status.error().message);
}

void ProgramLogs::write(const journal::TaskRecord& record) {
    if (transactions_.is_open())
        journal::put_task_lines(transactions_.lines(), stamp_, record, address_of(addresses_, record.worker));
    if (!h5_ || h5_->failed()) return;
    hdf5::TaskRow row = hdf5::row_of(record);
    row.ask = 0;  // a program's file has no /asks
    h5_->append(hdf5::Dataset::tasks, row);
}

void ProgramLogs::write(const journal::RangeRecord& record) {
    if (transactions_.is_open())
        journal::put_range_lines(transactions_.lines(), stamp_, record,
                                 address_of(addresses_, record.worker));
    if (h5_ && !h5_->failed()) h5_->append(hdf5::Dataset::tasks, hdf5::row_of(record));
}

void ProgramLogs::write(const Call& call) {
    if (transactions_.is_open()) {
        const journal::TaskRecord& record = call.attempt;
        write(Line{
            record.dispatched_us,
            journal::task_running_text(record.task, address_of(addresses_, record.worker), record.given)});
    }
    write(call.attempt);
}

void ProgramLogs::write(const journal::WorkerRecord& record) {
    addresses_[record.worker.value()] = record.address;
    if (transactions_.is_open()) journal::put_worker_lines(transactions_.lines(), stamp_, record);
    if (!h5_ || h5_->failed()) return;
    const auto known = worker_row_.find(record.worker.value());
    if (record.left_us != 0 && known != worker_row_.end())
        return h5_->overwrite(hdf5::Dataset::workers, known->second, hdf5::row_of(record));
    worker_row_[record.worker.value()] = worker_rows_++;
    h5_->append(hdf5::Dataset::workers, hdf5::row_of(record));
}

void ProgramLogs::write(const journal::Sample& sample) {
    if (statistics_.is_open()) hdf5::put_stats_line(statistics_.lines(), sample);
    if (h5_ && !h5_->failed()) h5_->append(hdf5::Dataset::manager, hdf5::row_of(sample));
}

void ProgramLogs::write(const journal::CategoryRecord& record) {
    const bool changed = record.changed_us != 0;
    if (transactions_.is_open()) put_category(changed ? record.changed_us : wall_now(), record);
    if (!h5_ || h5_->failed()) return;
    if (changed)
        h5_->overwrite(hdf5::Dataset::categories, record.category.value(), hdf5::row_of(record));
    else
        h5_->append(hdf5::Dataset::categories, hdf5::row_of(record.category, record.name, wall_now()));
}

// Only those of the lines that say something new.
void ProgramLogs::put_category(WallMicros when, const journal::CategoryRecord& record) {
    std::string lines;
    journal::TransactionStamp none(0);
    journal::put_category_lines(lines, 0, none, record);
    std::vector<std::string>& last = category_lines_[record.name];
    for (std::size_t begin = 0, n = 0; begin < lines.size(); ++n) {
        const std::size_t end = lines.find('\n', begin) + 1;
        const std::string text = lines.substr(begin + 4, end - begin - 4);  // behind "0 0 "
        begin = end;
        if (n == last.size()) last.emplace_back();
        if (text == last[n]) continue;
        last[n] = text;
        stamp_.append_to(transactions_.lines(), when);
        transactions_.lines() += text;
    }
}

void ProgramLogs::write(const Cancelled& cancelled) {
    cancelled.tasks.for_each([&](Interval part) {
        journal::put_cancelled_line(transactions_.lines(), cancelled.when, stamp_, part);
    });
}

void ProgramLogs::write(const Line& line) {
    stamp_.append_to(transactions_.lines(), line.when);
    transactions_.lines().append(line.text).append("\n");
}

void ProgramLogs::write(const DebugLine& line) {
    debug_->write(line.subsystem, line.text, line.when);
}

// ---- the manager's thread ----

void ProgramLogs::task(const journal::TaskRecord& record) {
    if (wants_records()) queue_entry(record);
    debug_attempt(record);
}
void ProgramLogs::call(const journal::TaskRecord& record) {
    if (wants_records()) queue_entry(Call{record});
    debug_attempt(record);
}
void ProgramLogs::debug_attempt(const journal::TaskRecord& record) {
    if (wants_debug("task"))
        debug("task", "task " + std::to_string(record.task.value() + 1) + " attempt " +
                          std::to_string(record.attempt) + (record.final ? " ended: " : " will run again: ") +
                          engine::model::describe(record.outcome));
}
void ProgramLogs::range(const journal::RangeRecord& record) {
    if (wants_records()) queue_entry(record);
    if (wants_debug("task"))
        debug("task", count_of(record.tasks.count(), "call") + " of a range ended within task " +
                          std::to_string(record.tasks.front()->first + 1) + " to " +
                          std::to_string(record.tasks.back()->end) + " on worker " +
                          std::to_string(record.worker.value()));
}
void ProgramLogs::cancelled(const IntervalSet& tasks, WallMicros when) {
    if (has_transactions_) queue_entry(Cancelled{tasks, when});
}
void ProgramLogs::worker(const journal::WorkerRecord& record) {
    queue_entry(record);
    if (wants_debug("wq"))
        debug("wq", "worker " + std::to_string(record.worker.value()) + " at " + record.address +
                        (record.left_us == 0 ? " joined with " + engine::model::describe(record.offers)
                                             : " left: " + record.why_left));
}
void ProgramLogs::sample(const journal::Sample& sample) {
    if (has_statistics_ || h5_) queue_entry(sample);
}
void ProgramLogs::category(const journal::CategoryRecord& record) {
    if (wants_records()) queue_entry(record);
}
void ProgramLogs::transaction(WallMicros when, std::string text) {
    if (wants_debug("task")) queue_entry(DebugLine{when, "task", text});
    if (has_transactions_) queue_entry(Line{when, std::move(text)});
}
void ProgramLogs::debug(std::string_view subsystem, const std::string& text) {
    if (wants_debug(subsystem)) queue_entry(DebugLine{wall_now(), std::string(subsystem), text});
}

}  // namespace wq::records::logs
