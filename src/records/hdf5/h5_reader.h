// Opens HDF5 files of others for reading, also while a program writes them.
#pragma once

#include <string>

#include "records/hdf5/h5_library.h"

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

}  // namespace wq::records::hdf5
