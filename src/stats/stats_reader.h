// Reads stats.h5 of a finished, live or killed run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "stats/h5_handle.h"
#include "stats/schema.h"

namespace wq::stats {

class StatsReader {
  public:
    // Error bad_input: no such file, or no stats.h5 of a run.
    static Result<StatsReader> open(const std::string& path);

    // All rows that are in the file now. Columns that it lacks (it is older) are 0, those it has more are
    // left out.
    Result<std::vector<ManagerRow>> manager() const { return rows<ManagerRow>(Dataset::manager); }
    Result<std::vector<TaskRow>> tasks() const { return rows<TaskRow>(Dataset::tasks); }
    Result<std::vector<WorkerRow>> workers() const { return rows<WorkerRow>(Dataset::workers); }
    Result<std::vector<CategoryRow>> categories() const { return rows<CategoryRow>(Dataset::categories); }
    // An attribute of the file; empty: it has none of that name.
    std::string attribute(const std::string& name) const;

  private:
    StatsReader(std::string path, H5Handle file) : path_(std::move(path)), file_(std::move(file)) {}

    template <class Row>
    Result<std::vector<Row>> rows(Dataset dataset) const {
        const auto count = count_rows(dataset);
        if (!count) return count.error();
        std::vector<Row> rows(*count);
        if (auto read = read_rows(dataset, rows.data(), rows.size()); !read) return read.error();
        return rows;
    }
    Result<std::uint64_t> count_rows(Dataset dataset) const;
    Status read_rows(Dataset dataset, void* rows, std::uint64_t count) const;

    std::string path_;
    H5Handle file_;
};

// Whether the file begins like one of HDF5.
bool is_hdf5(const std::string& path);

}  // namespace wq::stats
