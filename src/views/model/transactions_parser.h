// Parses a transactions log of this or another Work Queue, and tells a sink what happened.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace wq::views::model {

// Files that go to or from an attempt.
struct LoggedFiles {
    WallMicros begin = 0;  // 0: there are none
    WallMicros end = 0;
    std::int64_t bytes = 0;
    void add(WallMicros when, std::int64_t took, std::int64_t size);
};

// An attempt that has ended, or runs at the end of the log.
struct LoggedAttempt {
    std::uint64_t task = 0;   // of calls of a range: the lowest
    std::uint32_t calls = 1;  // of a range
    std::uint32_t attempt = 1;
    std::uint32_t category = 0;  // place in categories of parse_transactions()
    std::uint32_t worker = 0;    // in the order of TransactionSink::worker()
    WallMicros waiting = 0;      // its task began to wait
    WallMicros running = 0;      // it was dispatched; it may have waited at the worker. 0: a range
    WallMicros returned = 0;     // its process had ended; 0: nothing says so
    WallMicros over = 0;         // the record of its end
    LoggedFiles input, output;
    std::string_view result;     // in upper case: of Work Queue; in lower case: "lost" with its manager or
                                 // worker, "running", "cancelled", "not needed" (a copy)
    std::string_view code;       // of the process, or its signal
    std::string_view allocated;  // JSON, as the next; empty: not known
    std::string_view measured;
    std::string_view asked;
};

// `"NAME":[NUMBER,...` of a JSON; empty: it is not there.
std::string_view logged_amount(std::string_view json, std::string_view name);
// Microseconds of a number of seconds; 0: it is none, or more than a hundred years.
std::int64_t logged_micros(std::string_view seconds);

class TransactionSink {
  public:
    virtual ~TransactionSink() = default;
    virtual void session(WallMicros /*begin*/) {}
    virtual void worker(std::string_view address, WallMicros joined) = 0;
    virtual void worker_has(std::uint32_t /*worker*/, std::string_view /*json*/) {}
    virtual void worker_left(std::uint32_t worker, WallMicros when, std::string_view why) = 0;
    virtual void attempt(const LoggedAttempt& attempt) = 0;
    // The last attempt of the task was not its last one.
    virtual void again(std::uint64_t /*task*/) {}
    virtual void never_ran() {}
    virtual void transfer(std::uint64_t /*task*/, bool /*is_input*/, WallMicros /*end*/,
                          std::int64_t /*bytes*/, std::int64_t /*took*/, std::string_view /*name*/) {}
};

struct LoggedTime {
    std::vector<std::string> categories;
    WallMicros end = 0;  // the latest time
};

// Lines about other things are skipped, and so is a torn last line. An attempt that was running when its
// manager ended has the result "lost", one that was running at the end of the log "running". Errors
// (bad_input, with file and line): a line that is no record, a record that lacks a word.
Result<LoggedTime> parse_transactions(std::string_view text, const std::string& name, TransactionSink& sink);

}  // namespace wq::views::model
