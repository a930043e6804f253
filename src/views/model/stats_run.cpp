#include "views/model/stats_run.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "records/hdf5/schema.h"
#include "records/journal/append_file.h"
#include "records/journal/journal.h"
#include "records/journal/run_directory.h"
#include "records/journal/run_status.h"
#include "views/model/journal_run.h"
#include "views/model/run_rows.h"
#include "views/model/transactions_run.h"

namespace wq::views::model {

namespace fs = std::filesystem;

using records::hdf5::Dataset;
using records::hdf5::StatsReader;

namespace {

struct Later {
    Dataset dataset;
    const char* column;
    const char* what;
};
// What came after the first version of stats.h5.
constexpr Later later[] = {
    {Dataset::tasks, "ready", "since when attempts could have been dispatched"},
    {Dataset::tasks, "inputs_there", "when the files of attempts were there"},
    {Dataset::tasks, "disk_wait", "how long tasks waited for files"},
    {Dataset::asks, "ask", "what tasks asked for"},
    {Dataset::waiting, "reason", "what waited, and why"},
    {Dataset::workers, "process_started", "when workers and their batch jobs began"},
    {Dataset::worker_changes, "change", "when workers were excluded, draining or disconnected"},
};

template <class Rows>
Status add_all(RunRows& run, const Result<Rows>& rows) {
    if (!rows) return rows.error();
    for (const auto& row : *rows) run.add(row);
    return success();
}

}  // namespace

std::string title_of_list(const std::string& list, const std::string& path) {
    const std::string shown = list.starts_with("--") ? list : fs::path(list).filename().string();
    return shown.empty() ? fs::path(path).filename().string() : shown;
}

Result<RunView> read_stats_run(const StatsReader& reader, const std::string& path, bool is_live) {
    const auto count = reader.count_rows(Dataset::tasks);
    if (!count) return count.error();
    const bool has_transfers = reader.has(Dataset::transfers, "bytes");
    RunRows rows(*count, has_transfers ? RunRows::Transfers::recorded : RunRows::Transfers::absent);
    for (const Status& added :
         {add_all(rows, reader.manager()), add_all(rows, reader.workers()), add_all(rows, reader.asks()),
          add_all(rows, reader.worker_changes()), add_all(rows, reader.waiting())})
        if (!added) return added.error();
    // Not in the first files.
    if (reader.has(Dataset::categories, "name"))
        if (const Status added = add_all(rows, reader.categories()); !added) return added.error();
    if (has_transfers)
        if (const Status added = add_all(rows, reader.transfers()); !added) return added.error();
    const Status read = reader.each_task([&](const records::hdf5::TaskRow& row) { rows.add(row); });
    if (!read) return read.error();
    RunView run = rows.result(is_live);
    run.title = title_of_list(reader.attribute("list"), path);
    run.path = path;
    run.host = reader.attribute("host");
    run.read_at = wall_now();
    run.has_file_times = reader.has(Dataset::tasks, "inputs_there");
    for (const Later& one : later)
        if (!reader.has(one.dataset, one.column))
            run.lacks.push_back(std::string(one.what) +
                                " is not recorded: the run is of an earlier version; later ones record it");
    if (!has_transfers) run.lacks.push_back("files are not recorded: the run is of an earlier version");
    if (is_live)
        run.lacks.push_back(
            "attempts that run now are not in stats.h5: ask the manager, by work_queue_status");
    return run;
}

namespace {

bool is_journal(const std::string& path) {
    const auto file = records::journal::MappedFile::open(path);
    return file && file->bytes().starts_with(records::journal::journal_mark);
}

Result<RunView> read_stats_file(const std::string& path, bool is_live) {
    const auto reader = StatsReader::open(path);
    if (!reader) return reader.error();
    return read_stats_run(*reader, path, is_live);
}

// Of a run directory, beside a stats.h5 that is missing or damaged.
Result<RunView> read_beside(const fs::path& folder, const Error& why, bool is_live) {
    const std::string journal = folder / "journal";
    const std::string log = folder / "transactions.log";
    std::error_code unknown;
    Result<RunView> run = why;
    if (fs::exists(journal, unknown)) {
        run = read_journal_run(journal, is_live);
        if (!run) run = Error{why.code, why.message + "; and " + run.error().message};
    } else if (fs::exists(log, unknown)) {
        run = read_transactions_run(log);
    } else {
        return Error{why.code, why.message +
                                   "; there is no journal from which `work_queue_run --resume` could "
                                   "write it again: take it from a copy"};
    }
    if (run)
        run->lacks.insert(run->lacks.begin(),
                          why.message + ": " + (fs::path(run->path).filename().string()) +
                              " was read instead; `work_queue_run --resume` writes a lost stats.h5 again");
    return run;
}

}  // namespace

namespace {

bool is_live_in(const std::string& folder) {
    const auto status = records::journal::read_status(folder);
    return status ? records::journal::may_be_live(folder, *status)
                  : records::journal::RunDirectory::is_taken(folder);
}

}  // namespace

std::string folder_of_run(const std::string& path) {
    std::error_code unknown;
    if (fs::is_directory(path, unknown)) return path;
    const std::string folder = fs::path(path).parent_path().string();
    return folder.empty() ? "." : folder;
}

Result<RunView> read_run(const std::string& path) {
    std::error_code unknown;
    const bool is_folder = fs::is_directory(path, unknown);
    const fs::path folder = folder_of_run(path);
    const std::string stats = is_folder ? (folder / "stats.h5").string() : path;
    const bool is_live = is_live_in(folder);
    Result<RunView> run = Error{};
    if (is_folder && !fs::exists(stats, unknown)) {
        run = read_beside(folder, {ExitCode::bad_input, stats + " is missing"}, is_live);
    } else if (is_folder || records::hdf5::is_hdf5(stats) || fs::path(stats).extension() == ".h5") {
        run = read_stats_file(stats, is_live);
        if (!run) run = read_beside(folder, run.error(), is_live);
    } else {
        run = is_journal(stats) ? read_journal_run(stats, is_live) : read_transactions_run(stats);
    }
    if (run && !run->is_live && run->attempts.empty() && run->workers.empty())
        return Error{ExitCode::bad_input, run->path + ": no task has run yet, and no worker has joined"};
    return run;
}

}  // namespace wq::views::model
