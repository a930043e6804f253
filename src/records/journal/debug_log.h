// The manual's debug log: free text about what a program does, by subsystem. At its size limit the file
// becomes FILE.old, and a new one starts.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace wq::records::journal {

struct DebugLogOptions {
    std::string path;          // "-" or empty: stderr, not rotated
    std::string flags{"all"};  // subsystems, separated by blanks or commas; "all": all of them, "clear" or
                               // "": none
    std::uint64_t rotate_bytes = 10u << 20;  // 0: never
    std::string program{"work_queue"};
};

// Any thread may write lines.
class DebugLog {
  public:
    // The subsystems; flags may also be "all" and "clear".
    static constexpr std::string_view subsystems = "wq tcp auth task mpi resource log notice";

    // Appends to the file. Errors: usage for an unknown subsystem, not_allowed or interrupted if the file
    // cannot be opened.
    static Result<std::unique_ptr<DebugLog>> open(const DebugLogOptions& options);
    ~DebugLog();
    DebugLog(const DebugLog&) = delete;
    DebugLog& operator=(const DebugLog&) = delete;

    bool wants(std::string_view subsystem) const { return all_ || flags_.contains(subsystem); }
    // The first failed write, once. Later lines are still tried.
    std::optional<Error> take_trouble();
    // Writes a line "2026/11/20 16:19:05.123456 PROGRAM[PID] SUBSYSTEM: TEXT"; newlines in TEXT become
    // blanks. A line that cannot be written is lost: nothing waits for this log.
    void write(std::string_view subsystem, std::string_view text);
    void write(std::string_view subsystem, std::string_view text, WallMicros when);

  private:
    explicit DebugLog(DebugLogOptions options) : options_(std::move(options)) {}
    bool reopen();
    void rotate();
    void note_trouble(int error);

    const DebugLogOptions options_;
    bool all_ = false;
    std::set<std::string, std::less<>> flags_;
    std::mutex mutex_;
    int descriptor_ = -1;
    bool is_file_ = false;
    std::uint64_t size_ = 0;
    bool torn_ = false;  // the last line is incomplete
    bool had_trouble_ = false;
    std::optional<Error> trouble_;
};

}  // namespace wq::records::journal
