// Tells which marks of workers an edited list lacks, by comparing it with the list that the workers know.
//
// Marks alone do not tell an old copy from a list without its finished lines. But an old copy has more lines
// of a command to run than the known list, and some that are finished there; who tidies leaves as many as
// there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "shared_list/text/document.h"
#include "shared_list/text/edit.h"

namespace wq::shared_list::text {

class Balance {
  public:
    Balance(const Document& known, const Document& edited);

    // Whether the known list has the mark of this try.
    bool knows(const Take& edit) const;
    // Lines that are no part of the edited list for certain, and will be appended to it.
    void expect(const Append& edit);
    // Those of its lines that the edited list lacks.
    std::string missing(const Append& edit);
    // Whether the mark is to be made again. Ask once for each, in their order: lines of one command that a
    // worker began in the same second differ by that only.
    bool admits(const Take& edit);
    bool admits(const End& edit);

  private:
    // Of the edited list beyond the known one.
    struct More {
        std::int64_t unfinished = 0;
        std::int64_t finished = 0;
        bool is_old() const { return unfinished > 0 && finished < 0; }
    };
    struct KnownLine {
        std::string command;
        enum class Need : std::uint8_t { unknown, yes, no } need = Need::unknown;
    };
    struct Tries {
        std::vector<std::size_t> lines;  // of lines_
        std::size_t takes = 0;           // asked for
        std::size_t ends = 0;
    };
    bool admits(const std::string& key, std::size_t Tries::*asked);
    void count(const Document& list, std::int64_t by);
    void remember_tries(const Document& known);

    std::map<std::string, More> more_;  // by command, or the whole text
    bool is_old_copy_ = false;
    std::vector<KnownLine> lines_;  // with tries
    std::map<std::string, Tries> tries_;
};

// What becomes of a list that somebody edited without the lock, while workers marked it.
//
// An editor that read the list at some time, and wrote it later, has undone the marks made between: these are
// made again. The last mark that stands in the list shows the time at which it was read. A mark that is
// older and does not stand there was removed on purpose: its line waits again. So was a finished line that is
// gone.
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
