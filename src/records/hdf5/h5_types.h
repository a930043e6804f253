// Shared by h5_writer.cpp and h5_reader.cpp.
#pragma once

#include <string>

#include "records/hdf5/h5_handle.h"
#include "records/hdf5/schema.h"

namespace wq::records::hdf5 {

// The compound type of a row, in memory and in the file. Not ok(): the library failed.
H5Handle h5_row_type(const Schema& schema);
// Opens the file without locks if the file system has none.
H5Handle h5_file_access();
// Stops the library from printing to stderr and from closing itself at exit (after a failed write that loops:
// "infinite loop closing library"). Per thread and cheap.
void h5_keep_quiet();
// The library's error stack in one line, with the system's message if there is one.
std::string h5_last_error();

}  // namespace wq::records::hdf5
