// stats_log as HDF5: the figures of one run.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "stats/h5_writer.h"

namespace wq::logs {

// A new file. One of an earlier run that has the name becomes PATH.1, or the first PATH.n that is free, and
// `say` gets a line about it. Errors: bad_input, where the file there is none of ours; interrupted, where it
// cannot be moved or the new one not be made.
Result<stats::H5Writer> new_statistics_file(const std::string& path, const stats::H5Attributes& attributes,
                                            const std::function<void(const std::string&)>& say);

}  // namespace wq::logs
