// Tells which marks of workers an edited list lacks, by comparing it with the list that the workers know.
//
// Marks alone do not tell an old copy from a list without its finished lines. But an old copy has more lines
// of a command to run than the known list, and some that are finished there; who tidies leaves as many as
// there are.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

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

}  // namespace wq::shared_list::text
