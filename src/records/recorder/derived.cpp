#include "records/recorder/derived.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include "records/hdf5/rows.h"
#include "records/hdf5/stats_log.h"
#include "records/journal/joblog.h"
#include "records/journal/records.h"
#include "records/journal/resource_summary.h"
#include "records/journal/run_status.h"
#include "records/journal/transactions.h"

namespace wq::records::recorder {

namespace {

// stats.h5 leaves the last space of a disk to output.log and the journal, and then stops: a write that fails
// inside the library leaves rows of zeros.
constexpr std::uint64_t space_left_alone = 1u << 20;
constexpr std::uint64_t most_rows_waiting = 1'000'000;

// Finds the last record of each task that failed for good: if failed tasks ran again, they have more than one
// final record.
struct LastEnds : journal::JournalVisitor {
    std::unordered_map<std::uint64_t, std::uint64_t> last;  // by key: number of the journal's task record
    std::uint64_t tasks = 0;
    void task(const journal::TaskRecord& record) override {
        ++tasks;
        if (!record.final) return;
        if (record.outcome.succeeded()) {
            if (const auto failed = last.find(record.key.value); failed != last.end()) failed->second = tasks;
        } else {
            last[record.key.value] = tasks;
        }
    }
    void worker(const journal::WorkerRecord&) override {}
    void sample(const journal::Sample&) override {}
};

}  // namespace

// State while the journal of an earlier run is read.
struct Derived::Rebuild {
    const ListedTasks* listed;
    LastEnds ends;
    journal::EarlierJoblog joblog;
    std::uint64_t tasks = 0;  // read so far
};

Derived::Derived(const RecorderOptions& options, const journal::RunHeader& header, bool has_journal,
                 const ListedTasks* listed)
    : options_(options), pid_(::getpid()) {
    const std::string& directory = options_.run_directory;
    const std::string joblog = directory + "/joblog.tsv";
    open_h5(header);
    ::unlink((joblog + ".part").c_str());
    joblog_ = open_log(joblog + ".part", journal::joblog_heading);
    transactions_ = open_log(directory + "/transactions.log", journal::transactions_heading());
    if (!options_.stats_log.empty()) stats_log_ = open_log(options_.stats_log, hdf5::stats_log_heading());
    if (has_journal) rebuild(directory + "/journal", listed);
    if (joblog_.is_open()) record_trouble(joblog_.rename(joblog));
    journal::put_manager_line(transactions_.lines(), wall_now(), stamp_, journal::ManagerLine::start);
    write_logs();
    flush();
}

void Derived::rebuild(const std::string& journal, const ListedTasks* listed) {
    Rebuild now{listed, {}, journal::EarlierJoblog(options_.run_directory + "/joblog.tsv")};
    if (auto scan = journal::scan_journal(journal, now.ends); !scan) record_trouble(scan.error());
    rebuild_ = &now;
    if (auto scan = journal::scan_journal(journal, *this); !scan) record_trouble(scan.error());
    rebuild_ = nullptr;
}

void Derived::open_h5(const journal::RunHeader& header) {
    auto h5 = hdf5::H5Writer::create(options_.run_directory + "/stats.h5",
                                     {{"schema_version", "1"},
                                      {"run_id", header.run_id},
                                      {"list", header.list_name},
                                      {"host", journal::host_name()},
                                      {"started", journal::format_utc(header.started_us)},
                                      {"started_us", std::to_string(header.started_us)}});
    if (h5) {
        h5_.emplace(std::move(*h5));
    } else {
        note_h5(h5.error());
    }
}

journal::TextLog Derived::open_log(const std::string& path, std::string_view heading) {
    auto log = journal::TextLog::open(path, heading);
    if (log) return std::move(*log);
    record_trouble(log.error());
    return {};
}

void Derived::note_h5(const Status& status) {
    if (!status)
        record_trouble(
            Error{status.error().code,
                  status.error().message + "; the run goes on without it (the journal has all of it)"});
}

void Derived::record_trouble(const Status& status) {
    if (!status) notices_.push_back(status.error().message);
}

void Derived::note_once(bool& said, const Status& status) {
    if (status || said) return;
    said = true;
    record_trouble(status);
}

// Visits the journal: records of an earlier run, numbered by this run's list.
void Derived::task(const journal::TaskRecord& written) {
    journal::TaskRecord record = written;
    const ListedTasks* listed = rebuild_->listed;
    const auto found = listed != nullptr ? listed->find(record.key) : std::nullopt;
    if (listed != nullptr) {
        record.task = found.value_or(journal::not_listed);
        record.line = found ? listed->line(*found) : 0;
    }
    const std::uint64_t number = ++rebuild_->tasks;
    if (record.final && !record.outcome.succeeded()) {
        const bool is_last = rebuild_->ends.last[record.key.value] == number;
        const bool runs_again = options_.failed_run_again && (listed == nullptr || found);
        record.final = is_last && !runs_again;
    }
    if (h5_) {
        h5_->append(hdf5::Dataset::tasks, tasks_row(record));
        if (h5_->pending_rows() >= 65536) flush();
    }
    const std::string_view line = rebuild_->joblog.next();
    if (!joblog_.is_open()) return;
    if (!line.empty()) {
        journal::put_renumbered_line(joblog_.lines(), listed != nullptr ? record.task : written.task, line);
    } else {
        journal::put_joblog_line(joblog_.lines(), record, places_[record.worker.value()].host,
                                 found ? listed->command(*found) : std::string());
    }
    if (number % 4096 == 0) write_log(joblog_, said_joblog_);
}

// /categories has separate ids, because ids of an earlier run may now mean another category.
std::uint32_t Derived::category_named(const std::string& name) {
    const auto next = static_cast<std::uint32_t>(categories_.size());
    const auto [known, is_new] = categories_.try_emplace(name, next);
    if (is_new) category_names_.push_back(name);
    if (is_new && h5_)
        h5_->append(hdf5::Dataset::categories, hdf5::row_of(CategoryId(next), name, wall_now()));
    return known->second;
}

void Derived::category(const journal::CategoryRecord& record) {
    const std::uint32_t row = category_named(record.name);
    category_of_id_[record.category.value()] = row;
    if (record.changed_us == 0 || !h5_) return;
    journal::CategoryRecord changed = record;
    changed.category = CategoryId(row);
    h5_->overwrite(hdf5::Dataset::categories, row, hdf5::row_of(changed));
}

hdf5::TaskRow Derived::tasks_row(const journal::TaskRecord& record) {
    hdf5::TaskRow row = hdf5::row_of(record);
    row.category = category_row(record.category);
    row.ask = ask_row(record.ask).value();
    return row;
}

std::uint32_t Derived::category_row(CategoryId category) {
    const std::uint32_t id = category.value();
    if (const auto known = category_of_id_.find(id); known != category_of_id_.end()) return known->second;
    // For a journal without names. The first id is always the default category's.
    const std::string name = id == 0 ? "default" : "unknown " + std::to_string(id);
    return category_of_id_.emplace(id, category_named(name)).first->second;
}

void Derived::ask(const journal::AskRecord& record) {
    const bool further = record.ask == journal::further_ask;
    const auto [id, is_new] = further ? asks_.further() : asks_.id_of(record.needs, record.features);
    ask_of_id_[record.ask.value()] = id;
    if (!is_new || !h5_) return;
    journal::AskRecord row = id == journal::further_ask ? journal::AskRecord{} : record;
    row.ask = id;
    h5_->append(hdf5::Dataset::asks, hdf5::row_of(row));
}

journal::AskId Derived::ask_row(journal::AskId ask) const {
    const auto known = ask_of_id_.find(ask.value());
    return known == ask_of_id_.end() ? journal::no_ask : known->second;
}

void Derived::worker_change(const journal::WorkerChangeRecord& record) {
    if (h5_) h5_->append(hdf5::Dataset::worker_changes, hdf5::row_of(record));
}

void Derived::waiting(const journal::WaitingRecord& record) {
    if (!h5_) return;
    hdf5::WaitingRow row = hdf5::row_of(record);
    row.ask = ask_row(record.ask).value();
    h5_->append(hdf5::Dataset::waiting, row);
}

void Derived::worker(const journal::WorkerRecord& record) {
    places_[record.worker.value()] = {record.host, record.address};
    if (!h5_) return;
    const auto [known, is_new] =
        worker_rows_.try_emplace({record.worker.value(), record.joined_us}, worker_row_count_);
    if (is_new) {
        h5_->append(hdf5::Dataset::workers, hdf5::row_of(record));
        ++worker_row_count_;
    } else {
        h5_->overwrite(hdf5::Dataset::workers, known->second, hdf5::row_of(record));
    }
}

void Derived::sample(const journal::Sample& sample) {
    if (h5_) h5_->append(hdf5::Dataset::manager, hdf5::row_of(sample));
}

void Derived::record(const Recorded& ended) {
    const journal::TaskRecord& record = ended.record;
    const WorkerAddress& place = places_[record.worker.value()];
    if (h5_) h5_->append(hdf5::Dataset::tasks, tasks_row(record));
    if (joblog_.is_open()) journal::put_joblog_line(joblog_.lines(), record, place.host, ended.command);
    if (transactions_.is_open())
        journal::put_task_lines(transactions_.lines(), stamp_, record, place.address);
    if (!options_.summaries.empty()) write_summary(ended, place.host);
}

void Derived::write_summary(const Recorded& ended, const std::string& host) {
    const journal::TaskRecord& record = ended.record;
    if (record.outcome.ending == engine::model::Ending::worker_lost ||
        record.outcome.ending == engine::model::Ending::never_ran)
        return;
    const std::string& category = category_names_[category_row(record.category)];
    note_once(said_summaries_, journal::write_resource_summary(
                                   options_.summaries, pid_, journal::task_number(record.task),
                                   journal::resource_summary(record, {category, ended.command, host})));
}

void Derived::record(const journal::WorkerRecord& record) {
    worker(record);
    if (transactions_.is_open()) journal::put_worker_lines(transactions_.lines(), stamp_, record);
}

void Derived::record(const journal::CategoryRecord& record) {
    category(record);
    if (transactions_.is_open())
        journal::put_category_lines(transactions_.lines(), wall_now(), stamp_, record);
}

void Derived::record(const journal::Sample& taken) {
    sample(taken);
    if (stats_log_.is_open()) hdf5::put_stats_line(stats_log_.lines(), taken);
}

void Derived::transaction(WallMicros when, std::string_view text) {
    if (!transactions_.is_open()) return;
    stamp_.append_to(transactions_.lines(), when);
    transactions_.lines().append(text).append("\n");
}

void Derived::write_log(journal::TextLog& log, bool& said) {
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
        note_h5(h5_->flush());
        if (h5_->failed()) h5_.reset();
    } else if (h5_->pending_rows() > most_rows_waiting) {
        record_trouble(
            Error{ExitCode::interrupted, "stats.h5 ends here: too little space on the disk for it"});
        h5_.reset();
    }
}

void Derived::close() {
    journal::put_manager_line(transactions_.lines(), wall_now(), stamp_, journal::ManagerLine::end);
    for (journal::TextLog* log : {&joblog_, &transactions_, &stats_log_}) record_trouble(log->close());
    flush();
    if (h5_ && h5_->pending_rows() > 0) {
        record_trouble(Error{ExitCode::interrupted, "stats.h5 lacks its last " +
                                                        std::to_string(h5_->pending_rows()) +
                                                        " rows: too little space on the disk for them"});
        h5_->drop_pending();
    }
    if (h5_) note_h5(h5_->close());
    h5_.reset();
}

}  // namespace wq::records::recorder
