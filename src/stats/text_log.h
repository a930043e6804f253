// A derived text file of whole lines: appended to in memory, written a batch at a time. While the disk is
// full the lines wait; beyond a limit the file ends for good, and says so once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "stats/append_file.h"

namespace wq::stats {

class TextLog {
  public:
    static constexpr std::size_t most_waiting = 16u << 20;

    TextLog() = default;  // writes nothing
    // A last line without its newline is cut off. `heading` goes into a file that is empty. Error usage: the
    // file is not ours, since it begins otherwise; nothing of it is touched.
    static Result<TextLog> open(const std::string& path, std::string_view heading);

    // Whether open() would take the file for ours, and that it can be read.
    static Status check(const std::string& path, std::string_view heading);

    // Where lines are appended; write() must follow.
    std::string& lines() { return waiting_; }
    bool is_open() const { return file_.is_open() && !ended_; }
    // Error interrupted when the lines still wait, or when they were given up (then once).
    Status write();
    // Writes what waits, then takes the place of `path`; not to the disk itself, since it can be made again.
    // Error: it could not, and this log is given up.
    Status rename(const std::string& path);
    // What could not be written is given up. Error: something was.
    Status close();

    const std::string& path() const { return file_.path(); }

  private:
    explicit TextLog(AppendFile file) : file_(std::move(file)) {}
    AppendFile file_;
    std::string waiting_;
    bool ended_ = false;
};

// Numbers and texts, appended without a temporary.
void put_number(std::string& out, std::int64_t value);
void put_number(std::string& out, std::uint64_t value);
// Microseconds as seconds with `digits` (3 or 6) decimals, cut.
void put_seconds(std::string& out, std::int64_t micros, int digits);
// With each blank and control byte as `replacement`.
void put_word(std::string& out, std::string_view text, char replacement);
void put_json_string(std::string& out, std::string_view text);

}  // namespace wq::stats
