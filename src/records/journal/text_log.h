// A derived text file of complete lines, collected in memory and written in batches. While the disk is full
// the lines wait; beyond a limit the log is given up, with one message.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "records/journal/append_file.h"

namespace wq::records::journal {

class TextLog {
  public:
    static constexpr std::size_t most_waiting = 16u << 20;

    TextLog() = default;  // writes nothing
    // Removes an incomplete last line. Writes `heading` into an empty file. Error usage: the file is not
    // ours, because it begins with something else; it is not changed.
    static Result<TextLog> open(const std::string& path, std::string_view heading);

    // Whether open() would accept the file, and whether it is readable.
    static Status check(const std::string& path, std::string_view heading);

    // Append lines here, then call write().
    std::string& lines() { return waiting_; }
    bool is_open() const { return file_.is_open() && !ended_; }
    // Error interrupted if the lines still wait, or were given up (then once).
    Status write();
    // Writes pending lines, then renames the file over `path`; without flushing to disk, since it can be
    // regenerated. Error: it failed, and this log is given up.
    Status rename(const std::string& path);
    // Gives up what cannot be written. Error: something was given up.
    Status close();

    const std::string& path() const { return file_.path(); }

  private:
    explicit TextLog(AppendFile file) : file_(std::move(file)) {}
    AppendFile file_;
    std::string waiting_;
    bool ended_ = false;
};

// Append numbers and texts without a temporary.
void put_number(std::string& out, std::int64_t value);
void put_number(std::string& out, std::uint64_t value);
// Microseconds as seconds with `digits` (3 or 6) decimals, truncated.
void put_seconds(std::string& out, std::int64_t micros, int digits);
// Replaces each blank and control byte by `replacement`.
void put_word(std::string& out, std::string_view text, char replacement);

}  // namespace wq::records::journal
