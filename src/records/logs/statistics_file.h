// stats_log as HDF5: the statistics of one run.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "records/hdf5/h5_writer.h"

namespace wq::records::logs {

// Creates a new file. An earlier run's file of that name becomes PATH.1, or the first free PATH.n, and `say`
// gets a line about it. Errors: bad_input, if the existing file is not ours; interrupted, if it cannot be
// renamed or the new one cannot be created.
Result<hdf5::H5Writer> new_statistics_file(const std::string& path, const hdf5::H5Attributes& attributes,
                                           const std::function<void(const std::string&)>& say);

}  // namespace wq::records::logs
