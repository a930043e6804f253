// Reads the attempts of a run from its stats.h5, or from whatever a user names.
#pragma once

#include <string>

#include "base/result.h"
#include "records/hdf5/h5_reader.h"
#include "records/hdf5/schema.h"
#include "views/attempts.h"
#include "views/model/worker_rows.h"

namespace wq::views {

using model::WorkerRows;

// Attempts that have ended.
Result<Attempts> read_stats(const records::hdf5::StatsReader& reader);

// The name of a run's list, or else of the file at `path`.
std::string title_of(const records::hdf5::StatsReader& reader, const std::string& path);

struct AttemptsFile {
    std::string path;  // of the file that was read
    std::string title;
    Attempts attempts;
};
// Of a run directory (its stats.h5, else its transactions.log), a stats.h5 or a transactions log. Errors:
// bad_input.
Result<AttemptsFile> read_source(const std::string& path);

}  // namespace wq::views
