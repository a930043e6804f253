// Writes a file piece by piece, so that the text of a million attempts is never held whole.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace wq::views::report {

// Appends the next piece of the file to its argument; false: it was the last one.
using NextPiece = std::function<bool(std::string& text)>;

// The file gets its name when it is complete. Errors as of records::journal::AppendFile.
Status write_in_pieces(const std::string& path, const NextPiece& next);

}  // namespace wq::views::report
