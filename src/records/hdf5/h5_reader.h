// Opens HDF5 files of others for reading, also while a program writes them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "records/hdf5/h5_library.h"
#include "records/hdf5/rows.h"
#include "records/hdf5/schema.h"

namespace wq::records::hdf5 {

struct H5Opened {
    H5Handle file;  // not ok(): `why` says why
    std::string why;
    // Opened by SWMR: some process has it open for writing, or was killed then.
    bool being_written = false;
};
// Blocks if the path is a pipe.
H5Opened h5_open_for_reading(const std::string& path);

// Whether the file begins like an HDF5 file, after a user block if it has one.
bool is_hdf5(const std::string& path);

// Reads stats.h5 of a finished, live or killed run.
class StatsReader {
  public:
    // Error bad_input: no such file, or not a run's stats.h5.
    static Result<StatsReader> open(const std::string& path);

    // Whether the file records it: files of earlier versions lack some columns and datasets.
    bool has(Dataset dataset, const char* column) const;

    // All rows now in the file. A column that an older file lacks has the value for "not recorded": -1 if its
    // meaning says so, else 0 or "". Unknown columns are skipped. Without a dataset of a later version there
    // are no rows of it.
    Result<std::vector<ManagerRow>> manager() const { return rows<ManagerRow>(Dataset::manager); }
    Result<std::vector<TaskRow>> tasks() const { return rows<TaskRow>(Dataset::tasks); }
    // One after the other, in the file's order: a run may have millions.
    template <class Use>
    Status each_task(Use use) const {
        constexpr std::uint64_t at_once = 4096;
        const auto count = count_rows(Dataset::tasks);
        if (!count) return count.error();
        std::vector<TaskRow> rows(std::min(*count, at_once), blank<TaskRow>());
        for (std::uint64_t first = 0; first < *count; first += rows.size()) {
            rows.resize(std::min(*count - first, at_once));
            if (auto read = read_rows(Dataset::tasks, rows.data(), first, rows.size()); !read) return read;
            for (const TaskRow& row : rows) use(row);
        }
        return success();
    }
    Result<std::vector<WorkerRow>> workers() const { return rows<WorkerRow>(Dataset::workers); }
    Result<std::vector<CategoryRow>> categories() const { return rows<CategoryRow>(Dataset::categories); }
    Result<std::vector<TransferRow>> transfers() const { return rows<TransferRow>(Dataset::transfers); }
    Result<std::vector<SliceRow>> slices() const { return rows<SliceRow>(Dataset::slices); }
    Result<std::vector<SliceQueueRow>> slice_queue() const {
        return rows<SliceQueueRow>(Dataset::slice_queue);
    }
    Result<std::vector<SliceRankRow>> slice_ranks() const { return rows<SliceRankRow>(Dataset::slice_ranks); }
    Result<std::vector<AskRow>> asks() const { return rows<AskRow>(Dataset::asks); }
    Result<std::vector<WorkerChangeRow>> worker_changes() const {
        return rows<WorkerChangeRow>(Dataset::worker_changes);
    }
    Result<std::vector<WaitingRow>> waiting() const { return rows<WaitingRow>(Dataset::waiting); }
    Result<std::uint64_t> count_rows(Dataset dataset) const;
    // An attribute of the file; empty: it does not exist.
    std::string attribute(const std::string& name) const;

  private:
    StatsReader(std::string path, H5Handle file) : path_(std::move(path)), file_(std::move(file)) {}

    // Reading leaves members of a row that the file lacks as they are.
    template <class Row>
    static Row blank() {
        if constexpr (std::is_same_v<Row, TaskRow>)
            return blank_task_row();
        else if constexpr (std::is_same_v<Row, CategoryRow>)
            return blank_category_row();
        else
            return {};
    }

    template <class Row>
    Result<std::vector<Row>> rows(Dataset dataset) const {
        const auto count = count_rows(dataset);
        if (!count) return count.error();
        std::vector<Row> rows(*count, blank<Row>());
        if (auto read = read_rows(dataset, rows.data(), 0, rows.size()); !read) return read.error();
        return rows;
    }
    Status read_rows(Dataset dataset, void* rows, std::uint64_t first, std::uint64_t count) const;

    std::string path_;
    H5Handle file_;
};

}  // namespace wq::records::hdf5
