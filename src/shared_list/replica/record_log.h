// Turns, for workers that others starve. A change is refused if the log has grown since its worker looked, so
// a worker with a longer way to the master could be refused for ever. It asks for a turn by a line
// `TURN NAME` in the log, which is never refused. All others see that line before they can change anything,
// and hold their changes back until the worker has made one, for at most a second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "shared_list/text/edit.h"

namespace wq::shared_list::replica {

// The turns that were asked for in one log.
class Turns {
  public:
    void asked(std::string_view name);
    // A record with this token, "NAME.NUMBER", was appended: its sender has waited for those before it.
    void made(std::string_view token);
    // How many come before `name`, which has asked or not.
    std::size_t before(std::string_view name) const;
    // Counts all turns; of the one that comes next.
    std::uint64_t first() const { return first_; }

  private:
    std::deque<std::string> names_;
    std::uint64_t first_ = 0;
};

// The tries of one change.
class Tries {
  public:
    explicit Tries(Instant begun) : since_(begun) {}

    // Others were faster. Returns whether a turn is to be asked for.
    bool refused(Instant now);
    // Turns did not help.
    bool are_vain() const { return turns_ > 3; }

  private:
    Instant since_;
    int refused_ = 0;  // since then
    int turns_ = 0;
};

// Others wait so long for one that has asked for a turn.
inline constexpr Duration longest_turn = std::chrono::seconds(1);

// Reads the log beside a list: records, and after which of them the list was rewritten.
class RecordLog {
  public:
    // Forgets all, and begins with these bytes.
    Status begin(std::string_view bytes);
    // More bytes. Error bad_input: two records have one number, so that the lock did not lock.
    Status append(std::string_view bytes);

    // Whether the lock of the list's file system did not lock: append() has found two such records.
    bool lock_failed() const { return lock_failed_; }
    // Whether the last line lacks its LF: a writer was interrupted; the next one begins with LF.
    bool torn() const { return !partial_.empty(); }
    // A record was not read, for example from a file server that did not show it: begin() again.
    bool lacks_record() const { return lacks_record_; }
    std::uint64_t next_sequence() const { return next_; }

    const std::vector<text::Record>& records() const { return records_; }
    // Whether records before the first were left behind in the log before this one.
    bool is_cut() const { return !records_.empty() && records_.front().sequence > 1; }
    // How many of the records the file with this identity has; the last rewriting counts. nullopt: no worker
    // wrote it.
    std::optional<std::size_t> records_in(std::string_view identity) const;
    // Whether the list was edited by others after so many records: they belong to another one.
    bool is_reread_after(std::size_t known) const;
    // How many of the records are in the list as it was last rewritten. `left_aside`: this one was not put in
    // place.
    std::size_t written(std::string_view left_aside) const;
    // Rewritings that are known, and how many records the list had then.
    std::size_t files() const { return files_.size(); }
    std::size_t records_at(std::size_t file) const { return files_[file].records; }
    // Identity of the list as it was last rewritten; "": never.
    std::string_view last_file() const {
        return files_.empty() ? std::string_view() : files_.back().identity;
    }
    // The store has written the list with all records.
    void rewritten(const std::string& identity) { files_.push_back({identity, records_.size()}); }
    bool has(std::string_view token) const;
    // How many bytes of `text`, which was appended to an old file, the log has. `name`: see Append::from.
    std::size_t appended(std::string_view name, std::string_view text) const;
    const Turns& turns() const { return turns_; }

  private:
    struct File {
        std::string identity;
        std::size_t records;
    };
    Status take_line(std::string_view line);

    std::string partial_;
    std::vector<text::Record> records_;
    std::vector<File> files_;
    Turns turns_;
    std::uint64_t next_ = 1;
    bool lacks_record_ = false;
    bool lock_failed_ = false;
};

}  // namespace wq::shared_list::replica
