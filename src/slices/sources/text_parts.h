// What ranks tell each other of the text files that they have indexed together.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "slices/sources/line_reader.h"

namespace wq::slices::sources {

void put(ByteWriter& out, std::size_t work, const LinePart& part);
// The parts of each of so many works, from what the ranks have put. Error internal: it is none of this. The
// parts may contradict themselves: see LineIndex::join().
Result<std::vector<std::vector<LinePart>>> parts_in(const std::vector<std::string>& of_ranks,
                                                    std::size_t works);

}  // namespace wq::slices::sources
