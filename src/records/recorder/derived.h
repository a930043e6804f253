// All files that can be rebuilt from the journal: stats.h5, joblog.tsv, transactions.log and the text
// statistics log. Each file fails separately and says so once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "records/hdf5/h5_writer.h"
#include "records/hdf5/schema.h"
#include "records/journal/append_file.h"
#include "records/journal/ask_ids.h"
#include "records/journal/journal.h"
#include "records/journal/transactions.h"
#include "records/recorder/recorder.h"

namespace wq::records::recorder {

class Derived : private journal::JournalVisitor {
  public:
    // Creates the files; with `has_journal`, from the journal in the directory. `listed`: see
    // open_recorder(); only used during construction.
    Derived(const RecorderOptions& options, const journal::RunHeader& header, bool has_journal,
            const ListedTasks* listed);

    void record(const Recorded& ended);
    void record(const journal::WorkerRecord& record);
    void record(const journal::Sample& sample);
    void record(const journal::CategoryRecord& record);
    void record(const journal::AskRecord& asked) { ask(asked); }
    void record(const journal::WorkerChangeRecord& change) { worker_change(change); }
    void record(const journal::WaitingRecord& tasks) { waiting(tasks); }
    void transaction(WallMicros when, std::string_view text);

    void write_logs();  // after every batch
    void flush();       // stats.h5, on a timer
    bool wants_flush() const { return h5_ && h5_->pending_rows() > 0; }
    void close();
    std::vector<std::string> take_notices() { return std::exchange(notices_, {}); }

  private:
    void task(const journal::TaskRecord& record) override;
    void worker(const journal::WorkerRecord& record) override;
    void sample(const journal::Sample& sample) override;
    void category(const journal::CategoryRecord& record) override;
    void ask(const journal::AskRecord& record) override;
    void worker_change(const journal::WorkerChangeRecord& record) override;
    void waiting(const journal::WaitingRecord& record) override;

    struct Rebuild;
    void rebuild(const std::string& journal, const ListedTasks* listed);
    void open_h5(const journal::RunHeader& header);
    hdf5::TaskRow tasks_row(const journal::TaskRecord& record);
    std::uint32_t category_named(const std::string& name);
    std::uint32_t category_row(CategoryId category);
    journal::AskId ask_row(journal::AskId ask) const;
    void write_summary(const Recorded& ended, const std::string& host);
    journal::TextLog open_log(const std::string& path, std::string_view heading);
    void record_trouble(const Status& status);
    void note_h5(const Status& status);
    void note_once(bool& said, const Status& status);
    bool space_for_flush() const;
    void write_log(journal::TextLog& log, bool& said);

    const RecorderOptions options_;
    const std::int64_t pid_;
    journal::TransactionStamp stamp_{pid_};
    std::optional<hdf5::H5Writer> h5_;
    journal::TextLog joblog_, transactions_, stats_log_;
    bool said_joblog_ = false, said_transactions_ = false, said_stats_log_ = false, said_summaries_ = false;
    Rebuild* rebuild_ = nullptr;  // set while an earlier run's journal is read
    // Rows of /categories by name, and by the ids in current records, which each run assigns anew.
    std::unordered_map<std::string, std::uint32_t> categories_;
    std::vector<std::string> category_names_;  // by row
    std::unordered_map<std::uint32_t, std::uint32_t> category_of_id_;
    // The same for /asks.
    journal::AskIds asks_;
    std::unordered_map<std::uint32_t, journal::AskId> ask_of_id_;
    std::map<std::pair<std::uint32_t, WallMicros>, std::uint64_t> worker_rows_;
    std::uint64_t worker_row_count_ = 0;
    struct WorkerAddress {
        std::string host;
        std::string address;
    };
    std::unordered_map<std::uint32_t, WorkerAddress> places_;
    std::vector<std::string> notices_;
};

}  // namespace wq::records::recorder
