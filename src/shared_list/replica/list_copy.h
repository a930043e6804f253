// A worker's copy of a list: what the records of the log have made of its file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "shared_list/replica/record_log.h"
#include "shared_list/store/list_store.h"
#include "shared_list/text/document.h"
#include "shared_list/text/merge.h"

namespace wq::shared_list::replica {

class ListCopy {
  public:
    const text::Document& list() const { return list_; }
    text::Document& list() { return list_; }
    // Puts another one in its place; workers' places follow their lines.
    void set(text::Document list);

    // It equals the list as far as the log was applied. Else the list has to be read.
    bool is_current() const { return current_; }
    void lose() { current_ = false; }
    // It has been so, and its records can be followed: it tells which lines had ended.
    bool is_known() const { return known_; }
    void log_began();
    // It has so many records, and the rewritings of the log until now.
    void is_up_to(std::size_t records, const RecordLog& log);
    // Applies the records that it lacks. It is not current any more if one of them says so.
    void apply_news(const RecordLog& log);
    bool lacks_rewriting(const RecordLog& log) const { return files_seen_ < log.files(); }

    // The file has all of it.
    void written();
    Instant written_at() const { return written_at_; }

    // The line that a worker ran last; 0: none, or it is gone.
    void move_to(std::uint64_t number, text::WorkerId worker) { places_[worker] = number; }
    std::uint64_t place(text::WorkerId worker) const;
    // `before`: Document::lines_inserted_in_front() as it was.
    void move_places(std::uint64_t before);

  private:
    text::Document list_;
    bool current_ = false;
    bool known_ = false;
    std::size_t applied_ = 0;     // records of the log that list_ has
    std::size_t files_seen_ = 0;  // rewritings that list_ knows of
    Instant written_at_{};
    std::map<text::WorkerId, std::uint64_t> places_;
};

// The end of a list whose last line has no LF: somebody may be writing it just now, and half a command is no
// task. Some editors never write the last LF, so the line counts as whole once nobody has changed the list
// for a while.
class LooseEnd {
  public:
    // The list was read at `now`. `age`: since its last change, by the master's clock; none: not known.
    void read(const std::string& identity, std::string_view list, std::optional<Duration> age, Instant now);
    // Whether somebody may still be writing the list of this identity.
    bool is_written(const std::string& identity, Instant now) const {
        return whole_at_ && identity == identity_ && now < *whole_at_;
    }
    // When its last line is whole if the list does not change; nullopt: it ends in LF.
    std::optional<Instant> whole_at() const { return whole_at_; }

  private:
    std::string identity_;
    std::optional<Instant> whole_at_;
};

// The lines that end in LF.
std::string_view whole_lines(std::string_view list);

// When the list of this identity was last changed, by the clock of its file system; nullopt: it does not say.
std::optional<WallMicros> changed_at(const std::string& identity);

// For who must not replace such a list; `name`: of the list.
Error is_being_written(const std::string& name);

// Reads a shared list from its file and its log, without changing anything.

// The list as it stands, for who only looks: opens the store to read, waits for no lock and makes nothing.
// Error bad_input: there is no list.
Result<text::Document> view(store::ListStore& store);

enum class LogPart : std::uint8_t { all, unwritten };

// What workers did that a file may lack which no worker wrote: all that the log has if an editor may have
// read the list before that, because workers live; else only what was never written to the list.
Result<text::History> history(store::ListStore& store, const RecordLog& log, const store::Answer& answer,
                              LogPart part);
// Edits for lines that were appended to old files. Lines that the log has already are left out: their worker
// died before the store could note that they are copied.
std::vector<text::Edit> appends(const RecordLog& log, const std::vector<store::OldFile>& old);

}  // namespace wq::shared_list::replica
