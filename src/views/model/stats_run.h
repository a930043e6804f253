// Reads a run from whatever a user names.
#pragma once

#include <string>

#include "base/result.h"
#include "records/hdf5/h5_reader.h"
#include "views/model/run_view.h"

namespace wq::views::model {

// A path is shown without its folders; other names, such as --array 1-9, are short. Without a list: the name
// of the file at `path`.
std::string title_of_list(const std::string& list, const std::string& path);

// The run of a stats.h5 at `path`. `is_live`: its manager has it open. Attempts that run are not in the file.
// 10^6 attempts take about a second and 200 MB.
Result<RunView> read_stats_run(const records::hdf5::StatsReader& reader, const std::string& path,
                               bool is_live);

// The run directory that a path names, or that has the file which it names.
std::string folder_of_run(const std::string& path);

// Of a run directory, a stats.h5, a journal or a transactions log. Of a directory the first of these that can
// be read counts; RunView::lacks says what was damaged. Error bad_input: none can be read, with the remedy;
// or nothing has happened yet.
Result<RunView> read_run(const std::string& path);

}  // namespace wq::views::model
