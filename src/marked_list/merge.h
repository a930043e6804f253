// What becomes of a list that somebody edited without the lock, while workers marked it.
//
// An editor that read the list at some time, and wrote it later, has undone the marks made between: these are
// made again. The last mark that stands in the list shows the time at which it was read. A mark that is
// older and does not stand there was removed on purpose: its line waits again.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "marked_list/document.h"
#include "marked_list/edit.h"

namespace wq::marked_list {

struct Merged {
    Document list;  // differs from the bytes by the edits made again
    std::uint64_t made_again = 0;
};

// `history`: edits in the order in which they were made. Error: as of Document::read.
Result<Merged> merge(std::string_view bytes, std::span<const Edit> history);

// Whether the mark of a Take or an End stands in the list.
bool stands(const Document& list, const Edit& edit);

}  // namespace wq::marked_list
