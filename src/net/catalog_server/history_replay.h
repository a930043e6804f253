// Reads a history: the lines of logs and checkpoints, and the records that they make.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/descriptor.h"
#include "net/catalog/flat_record.h"
#include "net/catalog/jx.h"
#include "net/catalog_server/history_log.h"

namespace wq::net::catalog_server {

// The key of a record as one word, as lines have it; frames::percent_decoded() makes it the key again.
std::string word_of_key(std::string_view key);

class HistoryLines {
  public:
    explicit HistoryLines(Descriptor file) : file_(std::move(file)) {}
    // The next line without its end; false: there is none. A longer one than any record makes is empty.
    bool next(std::string_view& line);

  private:
    bool fill();
    Descriptor file_;
    std::string bytes_;
    std::size_t at_ = 0;
};

// A line of a log: "T 1700000000", "C KEY {...}", "M KEY {...}", "U KEY NAME VALUE", "R KEY NAME", "D KEY";
// "t 5" is a T with 5 s more than the last one.
struct HistoryLine {
    char kind = 0;  // 0: an empty line; '?': none of these
    std::string_view key, rest;
};
HistoryLine parse_history_line(std::string_view line);

// The records after some lines. Errors in lines are counted; all others hold.
class HistoryState {
  public:
    // Later ones are left out when their memory is used up. A checkpoint is written while records change: of
    // it, those count that the server had by `until` (s since 1970).
    explicit HistoryState(std::size_t most_bytes, std::int64_t until = INT64_MAX)
        : left_(most_bytes), until_(until) {}

    void take_log_line(std::string_view line);
    void take_checkpoint_line(std::string_view line);
    std::int64_t time() const { return time_; }  // s since 1970
    std::uint64_t damaged() const { return damaged_; }

    using Records = std::unordered_map<std::string, catalog::FlatRecord>;
    const Records& records() const { return records_; }

  private:
    void store_record(const std::string& key, catalog::FlatRecord record);
    void remove(const std::string& key);
    bool change(const HistoryLine& line);

    std::size_t left_;
    std::int64_t until_;
    std::int64_t time_ = 0;
    std::uint64_t damaged_ = 0;
    Records records_;
    std::string checkpoint_key_;
};

// The records at a time (s since 1970): the last checkpoint before it, and the changes since.
HistoryState history_at(const HistoryFiles& files, std::int64_t time, std::size_t most_bytes);

// The changes of the records for which an expression is true when they appear, as lines of a log: first
// these that are there at the begin.
class HistoryStream {
  public:
    // `files` must outlive it. No expression: all.
    HistoryStream(const HistoryFiles& files, std::int64_t begin, std::int64_t end,
                  std::optional<catalog::JxExpression> where, std::size_t most_bytes);
    // Appends about 64 KiB of lines. False: these were the last.
    bool next(std::string& out);

  private:
    void begin(std::string& out);
    void write_first(std::string& out);
    bool open_next();
    bool take(std::string_view line, std::string& out);  // false: it is later than the end
    bool wanted(const catalog::FlatRecord& record) const { return !where_ || where_->matches_flat(record); }

    const HistoryFiles& files_;
    std::int64_t begin_, end_;
    std::optional<catalog::JxExpression> where_;
    std::size_t most_bytes_;
    std::optional<HistoryState> state_;  // at the begin, until it is written
    HistoryState::Records::const_iterator at_;
    std::vector<Day> days_;
    std::optional<HistoryLines> reader_;
    std::int64_t time_ = 0, written_time_ = 0;
    std::unordered_set<std::string> keys_;  // as words
    bool begun_ = false;
};

}  // namespace wq::net::catalog_server
