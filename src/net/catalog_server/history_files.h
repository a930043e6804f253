// The folder of a history, as CCTools' programs have it: FOLDER/YEAR/DAY.log has the changes of a day (of
// UTC; the first of a year is 0), FOLDER/YEAR/DAY.ckpt all records at its begin. FOLDER/heard is ours: when
// each record was last sent.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"

namespace wq::net::catalog_server {

struct Day {
    int year = 0, day = 0;
    auto operator<=>(const Day&) const = default;
};
Day day_of(std::int64_t seconds);

class HistoryFiles {
  public:
    // Makes the folder if it is not there. Errors (bad_input): it cannot be used, or another server uses it.
    static Result<HistoryFiles> open(const std::string& folder);

    const std::string& folder() const { return folder_; }
    // Those that have a log or a checkpoint, oldest first.
    std::vector<Day> days() const;
    bool has(Day day, std::string_view kind) const;  // "log", "ckpt"

    // Not valid, with errno: there is none, or it is no plain file. No link is followed below the folder.
    Descriptor read(Day day, std::string_view kind) const;
    Descriptor read_heard() const;
    // For appending; the last line, if it has no end, gets one. Not valid: errno.
    Descriptor append_log(Day day) const;
    // Replaces a file by what `write` puts into the descriptor. False: errno.
    bool replace(Day day, std::string_view kind, const std::function<bool(int)>& write) const;
    bool replace_heard(std::string_view text) const;
    // The same in two steps, for long texts.
    Descriptor begin_checkpoint(Day day) const;
    bool end_checkpoint(Day day, int written) const;

    // Removes the oldest days until all have `most` bytes; the last one stays. Returns the bytes of all.
    std::int64_t remove_oldest(std::int64_t most) const;

  private:
    HistoryFiles(std::string folder, Descriptor root) : folder_(std::move(folder)), root_(std::move(root)) {}
    Descriptor year_of(Day day, bool make) const;
    std::string folder_;
    Descriptor root_;  // locked
};

}  // namespace wq::net::catalog_server
