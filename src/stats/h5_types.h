// Between h5_writer.cpp and h5_reader.cpp.
#pragma once

#include <string>

#include "stats/columns.h"
#include "stats/h5_handle.h"

namespace wq::stats {

// The compound type of a row, in memory and in the file alike. Not ok(): the library refused.
H5Handle h5_row_type(const Schema& schema);
// Of the file: without locks where the file system has none.
H5Handle h5_file_access();
// No word of the library on stderr, no closing by itself at exit (after a failed write that loops: "infinite
// loop closing library"). Per thread and cheap.
void h5_keep_quiet();
// What the library's error stack holds, in one line: the system's words where it has them.
std::string h5_last_error();

}  // namespace wq::stats
