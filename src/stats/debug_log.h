// The debug log of the manual: unstructured lines of what a program does, by subsystem, for whoever looks for
// a fault. When the file has grown to its limit it becomes FILE.old, and a new one begins.
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

namespace wq::stats {

struct DebugLogOptions {
    std::string path;          // "-" or empty: stderr, never rotated
    std::string flags{"all"};  // subsystems, separated by blanks or commas; "all": each, "clear" or "": none
    std::uint64_t rotate_bytes = 10u << 20;  // 0: never
    std::string program{"work_queue"};
};

// Lines may be written from any thread.
class DebugLog {
  public:
    // The words that flags may have, besides "all" and "clear".
    static constexpr std::string_view subsystems = "wq tcp auth task mpi resource log notice";

    // Appends to the file. Errors: usage for a flag that is no subsystem, not_allowed or interrupted where
    // the file cannot be opened.
    static Result<std::unique_ptr<DebugLog>> open(const DebugLogOptions& options);
    ~DebugLog();
    DebugLog(const DebugLog&) = delete;
    DebugLog& operator=(const DebugLog&) = delete;

    bool wants(std::string_view subsystem) const { return all_ || flags_.contains(subsystem); }
    // The first time that a line could not be written; once. Lines go on being tried.
    std::optional<Error> take_trouble();
    // One line "2026/11/20 16:19:05.123456 PROGRAM[PID] SUBSYSTEM: TEXT"; newlines in TEXT become blanks. A
    // line that cannot be written is lost: nothing waits for this log.
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
    bool torn_ = false;  // the last line has no end
    bool had_trouble_ = false;
    std::optional<Error> trouble_;
};

}  // namespace wq::stats
