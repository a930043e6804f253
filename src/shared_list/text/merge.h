// What becomes of a list that somebody edited without the lock, while workers marked it.
//
// An editor that read the list at some time, and wrote it later, has undone the marks made between: these are
// made again. The last mark that stands in the list shows the time at which it was read. A mark that is
// older and does not stand there was removed on purpose: its line waits again. So was a finished line that is
// gone.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "shared_list/text/document.h"
#include "shared_list/text/edit.h"

namespace wq::shared_list::text {

struct Merged {
    Document list;  // differs from the bytes by the edits made again
    std::uint64_t made_again = 0;
    // No mark of the history stands, and there were others before: the bytes may lack marks that are unknown.
    bool is_too_old = false;
};

// What workers did to a list.
struct History {
    std::vector<Edit> edits;  // in the order in which they were made
    // The first so many are in a file that a worker wrote. Nobody can have read a list with the others.
    std::size_t written = 0;
    bool complete = true;  // nothing was forgotten before the first
};

// `known`: the list after all of the history; null: not known, then lines of one command are not told apart.
// Error: as of Document::read.
Result<Merged> merge(std::string_view bytes, const History& history, const Document* known = nullptr);

// How many lines that are done in `before` wait in `after`. Lines of `after` that `before` lacks do not
// count.
std::uint64_t waiting_again(const Document& before, const Document& after);

// Whether the mark of a Take or an End stands in the list.
bool stands(const Document& list, const Edit& edit);

}  // namespace wq::shared_list::text
