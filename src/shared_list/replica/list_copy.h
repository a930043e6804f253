// A worker's copy of a list: what the records of the log have made of its file.
#pragma once

#include <cstdint>
#include <map>

#include "base/time.h"
#include "shared_list/replica/record_log.h"
#include "shared_list/text/document.h"

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

}  // namespace wq::shared_list::replica
