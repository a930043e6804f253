// Reads the attempts of a run from its stats.h5, or from whatever a user names.
#pragma once

#include <string>

#include "base/result.h"
#include "records/hdf5/stats_reader.h"
#include "views/attempts.h"

namespace wq::views {

// Attempts that have ended.
Result<Attempts> read_stats(const records::hdf5::StatsReader& reader);

// The name of a run's list, or else of the file at `path`.
std::string title_of(const records::hdf5::StatsReader& reader, const std::string& path);

struct Source {
    std::string path;  // of the file that was read
    std::string title;
    Attempts attempts;
};
// Of a run directory (its stats.h5, else its transactions.log), a stats.h5 or a transactions log. Errors:
// bad_input.
Result<Source> read_source(const std::string& path);

}  // namespace wq::views
