// A file that one process at a time replaces again and again, such as a checkpoint. The hold ends with the
// process, and never hinders the process that has it.
#pragma once

#include <string>

#include "base/result.h"
#include "records/journal/append_file.h"

namespace wq::records::journal {

// Error interrupted: another process holds it. One that does not exist is free.
Status refuse_if_held(const std::string& path);

// Holds it for as long as the descriptor is open, or until this process closes the file elsewhere. A file
// system without locks is trusted.
Result<Descriptor> hold_file(const std::string& path);

}  // namespace wq::records::journal
