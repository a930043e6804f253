#include "stats/derived.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include "stats/joblog.h"
#include "stats/rows.h"
#include "stats/run_status.h"
#include "stats/stats_log.h"
#include "stats/transactions.h"

namespace wq::stats {

namespace {

// stats.h5 leaves the last of a disk to the truth, and does not go on without: a write that fails inside the
// library leaves rows of zeros.
constexpr std::uint64_t space_left_alone = 1u << 20;
constexpr std::uint64_t most_rows_waiting = 1'000'000;

struct TaskCounter : JournalVisitor {
    std::uint64_t tasks = 0;
    void task(const TaskRecord&) override { ++tasks; }
    void worker(const WorkerRecord&) override {}
    void sample(const Sample&) override {}
};

}  // namespace

Derived::Derived(const RecorderOptions& options, const RunHeader& header, bool has_journal)
    : options_(options), pid_(::getpid()) {
    const std::string& directory = options_.run_directory;
    const std::string joblog = directory + "/joblog.tsv";
    if (has_journal) {
        // A joblog that is ahead of the journal tells of ends that will come again.
        TaskCounter counter;
        note([&]() -> Status {
            if (auto scan = scan_journal(directory + "/journal", counter); !scan) return scan.error();
            return cut_joblog(joblog, counter.tasks);
        }());
        joblog_has_ = joblog_lines(joblog);
    } else {
        note(cut_joblog(joblog, 0));
    }
    open_h5(header);
    joblog_ = open_log(joblog, joblog_heading);
    transactions_ = open_log(directory + "/transactions.log", transactions_heading());
    if (!options_.stats_log.empty()) stats_log_ = open_log(options_.stats_log, stats_log_heading());
    for (std::size_t i = 0; i < options_.categories.size(); ++i) {
        category(CategoryId(static_cast<std::uint32_t>(i)), options_.categories[i]);
    }
    if (has_journal) {
        if (auto scan = scan_journal(directory + "/journal", *this); !scan) note(scan.error());
    }
    put_manager_lines(transactions_.lines(), wall_now(), pid_, true);
    write_logs();
    flush();
}

void Derived::open_h5(const RunHeader& header) {
    auto h5 = H5Writer::create(options_.run_directory + "/stats.h5",
                               {{"schema_version", "1"},
                                {"run_id", header.run_id},
                                {"list", header.list_name},
                                {"host", host_name()},
                                {"started", format_utc(header.started_us)},
                                {"started_us", std::to_string(header.started_us)}});
    if (h5) {
        h5_.emplace(std::move(*h5));
    } else {
        note(h5.error());
    }
}

TextLog Derived::open_log(const std::string& path, std::string_view heading) {
    auto log = TextLog::open(path, heading);
    if (log) return std::move(*log);
    note(log.error());
    return {};
}

void Derived::note(const Status& status) {
    if (!status) notices_.push_back(status.error().message);
}

void Derived::note_once(bool& said, const Status& status) {
    if (status || said) return;
    said = true;
    note(status);
}

// The journal's visitor: what an earlier run recorded.
void Derived::task(const TaskRecord& record) {
    if (h5_) {
        h5_->append(Dataset::tasks, row_of(record));
        if (h5_->pending_rows() >= 65536) flush();
    }
    if (joblog_has_ > 0) {
        --joblog_has_;
    } else if (joblog_.is_open()) {
        put_joblog_line(joblog_.lines(), record, places_[record.worker.value()].host,
                        options_.command_of ? options_.command_of(record) : std::string());
    }
}

void Derived::worker(const WorkerRecord& record) {
    places_[record.worker.value()] = {record.host, record.address};
    if (!h5_) return;
    const auto [known, is_new] =
        worker_rows_.try_emplace({record.worker.value(), record.joined_us}, worker_row_count_);
    if (is_new) {
        h5_->append(Dataset::workers, row_of(record));
        ++worker_row_count_;
    } else {
        h5_->overwrite(Dataset::workers, known->second, row_of(record));
    }
}

void Derived::sample(const Sample& sample) {
    if (h5_) h5_->append(Dataset::manager, row_of(sample));
}

void Derived::record(const Recorded& ended) {
    const TaskRecord& record = ended.record;
    const Place& place = places_[record.worker.value()];
    if (h5_) h5_->append(Dataset::tasks, row_of(record));
    if (joblog_.is_open()) put_joblog_line(joblog_.lines(), record, place.host, ended.command);
    if (transactions_.is_open()) put_task_lines(transactions_.lines(), pid_, record, place.address);
}

void Derived::record(const WorkerRecord& record) {
    worker(record);
    if (transactions_.is_open()) put_worker_lines(transactions_.lines(), pid_, record);
}

void Derived::record(const Sample& taken) {
    sample(taken);
    if (stats_log_.is_open()) put_stats_line(stats_log_.lines(), taken);
}

void Derived::category(CategoryId id, std::string_view name) {
    if (h5_) h5_->append(Dataset::categories, row_of(id, name, wall_now()));
}

void Derived::transaction(WallMicros when, std::string_view text) {
    if (!transactions_.is_open()) return;
    put_transaction_stamp(transactions_.lines(), when, pid_);
    transactions_.lines().append(text).append("\n");
}

void Derived::write_log(TextLog& log, bool& said) {
    if (log.is_open()) note_once(said, log.write());
}

void Derived::write_logs() {
    write_log(joblog_, said_joblog_);
    write_log(transactions_, said_transactions_);
    write_log(stats_log_, said_stats_log_);
}

bool Derived::space_for_flush() const {
    struct statvfs disk {};
    if (::statvfs(options_.run_directory.c_str(), &disk) != 0) return true;
    const std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
    return free >= h5_->bytes_needed() + space_left_alone;
}

void Derived::flush() {
    if (!wants_flush()) return;
    if (space_for_flush()) {
        note(h5_->flush());
        if (h5_->failed()) h5_.reset();
    } else if (h5_->pending_rows() > most_rows_waiting) {
        note(Error{ExitCode::interrupted, "stats.h5 ends here: too little space on the disk for it"});
        h5_.reset();
    }
}

void Derived::close() {
    put_manager_lines(transactions_.lines(), wall_now(), pid_, false);
    for (TextLog* log : {&joblog_, &transactions_, &stats_log_}) note(log->close());
    flush();
    if (h5_ && h5_->pending_rows() > 0) {
        note(Error{ExitCode::interrupted, "stats.h5 lacks its last " + std::to_string(h5_->pending_rows()) +
                                              " rows: too little space on the disk for them"});
        h5_->drop_pending();
    }
    if (h5_) note(h5_->close());
    h5_.reset();
}

}  // namespace wq::stats
