// Looks at works before they are cut: whether their files are there, and how many records they have. The
// ranks of a job share this: each looks at some of the works, and reads a part of the bytes of all text
// files, and then all know the same.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "slices/sources/line_reader.h"
#include "slices/sources/source_file.h"

namespace wq::slices::sources {

enum class Kind : std::uint8_t { whole, rows, records, lines };
constexpr Kind last_of(Kind) {
    return Kind::lines;
}

struct Surveyed {
    std::string name;
    Kind kind = Kind::whole;
    SourceStamp stamp{};  // unless whole; its records are what there is to cut
    LineIndex lines{};    // of a text file
    std::optional<std::uint64_t> records() const {
        return kind == Kind::whole ? std::nullopt : std::optional(stamp.records);
    }
};

struct SurveyOptions {
    bool counts = false;             // records; otherwise all works are whole
    std::uint64_t record_bytes = 0;  // of files of binary records; 0: there are none
    bool lines = false;              // all other files are texts whose lines are counted
    // Whether works that are not counted are files. Works with "://" never are. nullopt: they are if one of
    // them has a '/', or is there.
    std::optional<bool> must_exist{};
    std::size_t most_places = most_line_places;  // of lines, in all files together
};

// The ranks that call survey() together, with equal works and options.
struct Party {
    std::size_t rank = 0;
    std::size_t size = 1;
    // Returns what all ranks say, in their order.
    std::function<std::vector<std::string>(const std::string& mine)> gather = [](const std::string& mine) {
        return std::vector{mine};
    };
};

struct Survey {
    std::vector<Surveyed> sources;  // as the works
    std::uint64_t whole_files = 0;  // files that were not counted, although records are
    std::uint64_t whole_names = 0;  // other works that were not
    bool are_files = false;         // works without "://", so all of these are there
};
// Error bad_input: files are missing, cannot be read, or have ragged records; it names them all, on all
// ranks. Error usage: the options exclude each other, or those of ranks differ. Throws what `gather` does.
Result<Survey> survey(const std::vector<std::string>& works, const SurveyOptions& options,
                      const Party& party = {});

}  // namespace wq::slices::sources
