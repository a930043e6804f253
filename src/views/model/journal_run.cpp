#include "views/model/journal_run.h"

#include <utility>

#include "records/hdf5/rows.h"
#include "records/journal/journal.h"
#include "views/model/run_rows.h"
#include "views/model/stats_run.h"

namespace wq::views::model {

namespace {

namespace journal = records::journal;
using records::hdf5::row_of;

class Visitor : public journal::JournalVisitor {
  public:
    void task(const journal::TaskRecord& record) override {
        rows_.add(row_of(record));
        has_ready_ = has_ready_ || record.ready_us != 0;
    }
    void worker(const journal::WorkerRecord& record) override { rows_.add(row_of(record)); }
    void sample(const journal::Sample& sample) override { rows_.add(row_of(sample)); }
    void category(const journal::CategoryRecord& record) override { rows_.add(row_of(record)); }
    void ask(const journal::AskRecord& record) override { rows_.add(row_of(record)); }
    void worker_change(const journal::WorkerChangeRecord& record) override { rows_.add(row_of(record)); }
    void waiting(const journal::WaitingRecord& record) override { rows_.add(row_of(record)); }

    RunView result(bool is_live) {
        RunView run = rows_.result(is_live);
        run.has_file_times = has_ready_;
        if (!has_ready_)
            run.lacks.emplace_back(
                "what waited and why, what tasks asked for, and when workers began is not recorded: the run "
                "is "
                "of an earlier version; later ones record it");
        run.lacks.emplace_back("files that were transferred are not in a journal: stats.h5 has them");
        if (is_live)
            run.lacks.emplace_back(
                "attempts that run now are not in a journal: ask the manager, by work_queue_status");
        return run;
    }

  private:
    RunRows rows_{0, RunRows::Transfers::absent};
    bool has_ready_ = false;
};

}  // namespace

Result<RunView> read_journal_run(const std::string& path, bool is_live) {
    Visitor visitor;
    const auto scan = journal::scan_journal(path, visitor);
    if (!scan) return scan.error();
    RunView run = visitor.result(is_live);
    run.title = title_of_list(scan->header.list_name, path);
    run.path = path;
    run.read_at = wall_now();
    if (scan->torn && !is_live)
        run.lacks.emplace_back("the last record of the journal is incomplete, and was skipped");
    return run;
}

}  // namespace wq::views::model
