// The edits that workers make in a shared list, as values and as records. Workers tell each other of an edit
// by its record.
//
// All workers apply the same records in the same order to the same list, so that their copies stay equal and
// the list itself need not travel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "shared_list/text/marked_line.h"

namespace wq::shared_list::text {

// A worker joins: `#LASTWORKER` becomes at least its id, and a line with its name is appended.
struct Join {
    WorkerId worker = 0;
    std::string name;
    std::string stamp;
    bool operator==(const Join&) const = default;
};

// A worker begins a line. `number`: from 1, in the list at this moment.
struct Take {
    std::uint64_t number = 0;
    WorkerId worker = 0;
    std::string stamp;
    std::string searched;  // searched_text() of the line: after a foreign edit the line is found by it
    bool operator==(const Take&) const = default;
};

// A worker's try has ended, or somebody found the worker lost. The line is looked for at its number, then at
// growing distance.
struct End {
    std::uint64_t number = 0;  // where the line was when it was begun
    WorkerId worker = 0;
    std::string begun;  // stamp of the Take
    std::string stamp;
    TryEnd end = TryEnd::ok;
    int exit_code = 0;
    std::string command;  // as in MarkedLine::command; for `#?line:`
    bool operator==(const End&) const = default;
};

// Lines that somebody appended to the list, or to an earlier file of it that a worker had just replaced.
struct Append {
    std::string text;    // ends in LF
    std::string from{};  // names the earlier file and its bytes, which are appended once; "": the list
    bool operator==(const Append&) const = default;
};

using Edit = std::variant<Join, Take, End, Append>;

// One line without its LF: "SEQUENCE TOKEN EDIT[ EDIT]... CHECKSUM". All its edits are made together.
struct Record {
    std::uint64_t sequence = 0;  // one above that of the record before it
    std::string token;           // names the record: who sent it and was cut off looks for it
    std::vector<Edit> edits;
    bool reread = false;  // the list was edited by others: copies of it are worthless
    bool operator==(const Record&) const = default;
};

std::string to_line(const Record& record);
// nullopt: the line is torn or is no record.
std::optional<Record> record_of(std::string_view line);

}  // namespace wq::shared_list::text
